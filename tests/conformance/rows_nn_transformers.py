"""What transformers' language models write out: caches with masked room, repeated heads, rotary positions, RMSNorm."""

from conformance import *

MIN = -3.4028234663852886e38  # torch.finfo(torch.float32).min
ATTEND = "F.scaled_dot_product_attention(q, k, v, m)"


def cache(batch, queries, room, features=8, heads=3):
    return {"q": f32(batch, heads, queries, features), "k": f32(batch, heads, room, features), "v": f32(batch, heads, room, features)}


# ---- Keys that a mask hides

SEEN = "torch.arange(k.size(2))[None, :] <= torch.arange(q.size(2))[:, None] + n"
for queries in (1, 5, 37):
    row(f"hidden_keys_{queries}", f"m = ({SEEN})[None, None]\nreturn {ATTEND}", **cache(2, queries, 64), n=3, also=[{"n": 0}, {"n": 40}, {"n": 63}])
    for name, hidden in (("infinite", "-math.inf"), ("least", str(MIN)), ("small", "-50.0")):
        row(f"hidden_keys_{queries}_{name}", f"m = torch.zeros(q.size(2), k.size(2)).masked_fill(~({SEEN}), {hidden})\nreturn {ATTEND}",
            **cache(2, queries, 64), n=3, also=[{"n": 0}, {"n": 40}])
row("hidden_keys_f64", f"m = torch.zeros(q.size(2), k.size(2), dtype=torch.float64).masked_fill(~({SEEN}), {MIN})\nreturn {ATTEND}",
    q=f64(1, 2, 3, 4), k=f64(1, 2, 50, 4), v=f64(1, 2, 50, 4), n=3)
row("hidden_keys_of_each_row", "F.scaled_dot_product_attention(q, k, v, (torch.arange(64) < n[:, None])[:, None, None, :])", **cache(3, 4, 64),
    n=tensor([5, 33, 64], "i64"))
row("hidden_keys_on_the_left", "F.scaled_dot_product_attention(q, k, v, (torch.arange(64) >= n[:, None]) & (torch.arange(64) < 40))", **cache(1, 4, 64),
    n=tensor([0, 3, 17, 39], "i64"))
row("hidden_keys_of_nothing", "F.scaled_dot_product_attention(q, k, v, m)", **cache(1, 2, 40),
    m=tensor([[False] * 40, [True] + [False] * 39], "b8"))
row("hidden_keys_all_the_least", "F.scaled_dot_product_attention(q, k, v, m)", **cache(1, 2, 40), m=tensor([[MIN] * 40, [0.0] + [MIN] * 39]))
row("hidden_keys_in_a_view", "F.scaled_dot_product_attention(q, k, v, m.t()[:, ::2])", **cache(1, 3, 32), m=tensor([[i < 9] * 3 for i in range(64)], "b8"))
row("hidden_keys_for_all", "F.scaled_dot_product_attention(q, k, v, m)", **cache(1, 3, 32), m=tensor([[[[False]]]], "b8"), also=[{"m": tensor([[[[True]]]], "b8")}])
row("hidden_keys_nan", "F.scaled_dot_product_attention(q, k, v, m)", **cache(1, 2, 40), m=tensor([[NAN] + [-INF] * 39, [0.0] * 3 + [-INF] * 37]))
row("hidden_keys_grouped", "F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True)", q=f32(2, 6, 1, 8), k=f32(2, 2, 64, 8), v=f32(2, 2, 64, 8),
    m=tensor([[i < 9 for i in range(64)]], "b8"))

# ---- Repeated heads

REPEAT = """
def repeat_kv(x: Tensor, n: int) -> Tensor:
    b, heads, tokens, features = x.shape
    x = x[:, :, None, :, :].expand(b, heads, n, tokens, features)
    return x.reshape(b, heads * n, tokens, features)

def f(q: Tensor, k: Tensor, v: Tensor, n: int):
    {}
"""


def grouped(batch, queries, keys, n, heads=2, features=8):
    return {"q": f32(batch, heads * n, queries, features), "k": f32(batch, heads, keys, features), "v": f32(batch, heads, keys, features), "n": n}


BOTH = "F.scaled_dot_product_attention(q, repeat_kv(k, n), repeat_kv(v, n){})"
for batch, queries, keys, n in ((1, 1, 40, 3), (2, 5, 5, 2), (2, 3, 7, 1), (1, 0, 3, 2), (0, 2, 2, 2)):
    row(f"repeated_heads_{batch}_{queries}_{keys}_{n}", REPEAT.format("return " + BOTH.format("")), **grouped(batch, queries, keys, n))
row("repeated_heads_causal", REPEAT.format("return " + BOTH.format(", is_causal=True, scale=0.3")), **grouped(2, 5, 5, 3))
row("repeated_heads_masked", REPEAT.format("keys = repeat_kv(k, n)\n    m = (torch.arange(50) < 9)[None, None, None, :][:, :, :, :keys.shape[2]]\n"
    "    return F.scaled_dot_product_attention(q, keys, repeat_kv(v, n), m)"), **grouped(2, 3, 40, 2))
row("repeated_heads_layout", REPEAT.format("y = " + BOTH.format("") + "\n    return y, y.stride(), y.transpose(1, 2).reshape(q.size(0), q.size(2), -1)"),
    **{**grouped(2, 3, 4, 2), "q": permuted(f32(2, 3, 4, 8), 0, 2, 1, 3)}, also=[grouped(2, 3, 4, 2)])
row("repeated_heads_written", REPEAT.format("keys, values = repeat_kv(k, n), repeat_kv(v, n)\n    k.add_(1)\n"
    "    return F.scaled_dot_product_attention(q, keys, values)"), **grouped(1, 2, 3, 2), mutates=True)
row("repeated_keys_alone", REPEAT.format("return F.scaled_dot_product_attention(q, repeat_kv(k, n), v)"),
    **{**grouped(1, 2, 3, 2), "v": f32(1, 4, 3, 8)})
row("repeated_heads_differ", REPEAT.format("return " + BOTH.format("")), **{**grouped(1, 2, 3, 2), "q": f32(1, 1, 2, 8)}, also=[{"q": f32(1, 4, 2, 8)}])
row("repeated_heads_do_not_fit", REPEAT.format("return " + BOTH.format("")), **{**grouped(1, 2, 3, 2), "q": f32(1, 6, 2, 8)}, raises="")
row("repeated_values_differ", REPEAT.format("return F.scaled_dot_product_attention(q, repeat_kv(k, n), repeat_kv(v, 2 * n))"),
    **{**grouped(1, 2, 3, 2), "v": f32(1, 1, 3, 8)})
row("repeated_batches", "F.scaled_dot_product_attention(q, k[:, :, None].expand(2, 2, 2, 5, 8).reshape(2, 4, 5, 8), v[:, :, None].expand(2, 2, 2, 5, 8).reshape(2, 4, 5, 8))",
    q=f32(2, 4, 3, 8), k=f32(1, 2, 5, 8), v=f32(1, 2, 5, 8))
row("repeated_otherwise", "F.scaled_dot_product_attention(q, k[:, None].expand(1, 2, 2, 5, 8).reshape(1, 4, 5, 8), v[:, None].expand(1, 2, 2, 5, 8).reshape(-1, 4, 5, 8))",
    q=f32(1, 4, 3, 8), k=f32(1, 2, 5, 8), v=f32(1, 2, 5, 8))
row("repeated_heads_f64", REPEAT.format("return " + BOTH.format("")), q=f64(1, 4, 2, 8), k=f64(1, 2, 6, 8), v=f64(1, 2, 6, 8), n=2)
for d in ("f16", "bf16"):
    row(f"repeated_heads_{d}", REPEAT.format("return " + BOTH.format("")), q=random(d, 1, 4, 2, 8), k=random(d, 1, 2, 6, 8), v=random(d, 1, 2, 6, 8),
        n=2, rtol=2e-2 if d == "bf16" else 4e-3, atol=4e-3 if d == "bf16" else 1e-3,
        why="PyTorch rounds the scores and the weights to halves on the way: 0.001 (float16) and 0.004 (bfloat16) were measured")

# ---- Rotary positions

HALF = "torch.cat([-x[..., x.size(-1) // 2:], x[..., :x.size(-1) // 2]], -1)"
grid("rotate_half", HALF, sizes=[(0,), (1,), (5,), (2, 8), (2, 3, 6), (1, 3, 2, 4), (2, 3, 4, 64)], layouts=("", "strided", "turned"),
     dtypes=("f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "c64", "c128"), x=any_(-3, 3))
row("rotate_half_special", HALF, x=special(18))
row("rotate_half_refuses_bools", HALF, x=b8(2, 4), raises="bool tensor is not supported")
row("rotate_half_along_1", "torch.cat([-x[:, 3:], x[:, :3]], 1)", x=f32(2, 7, 3), also=[{"x": f32(2, 2, 3)}])
row("rotate_half_from_behind", "torch.cat([-x[:, -3:], x[:, :-3]], dim=-1)", x=f32(2, 7))
row("rotate_half_along_two", "torch.cat([-x[:, 2:], x[:, :2]], 0)", x=f32(3, 4))
row("rotate_half_of_channels_last", "y = torch.cat([-x[:, :, :, 2:], x[:, :, :, :2]], -1)\nreturn y, y.stride()", x=channels_last(f32(2, 3, 4, 4)))
row("rotate_half_of_steps", "torch.cat([-x[:, 2::2], x[:, :2]], -1)", x=f32(2, 6))
row("rotary", f"(x * cos) + ({HALF} * sin)", x=permuted(f32(1, 5, 3, 8), 0, 2, 1, 3), cos=f32(1, 1, 5, 8), sin=f32(1, 1, 5, 8))

# ---- RMSNorm, written out

NORM = "y = x.to(torch.float32)\nreturn w * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)"
grid("rms_norm_written", NORM, sizes=[(), (1,), (5,), (3, 7), (2, 3, 64), (2, 0), (0, 4)], layouts=("", "strided", "turned"),
     dtypes=("f32", "f64", "f16", "bf16", "i64"), x=any_(-3, 3), w=lambda shape, dtype: f32(*shape[-1:]))
row("rms_norm_written_of_float32", "y = x.to(torch.float32)\nreturn y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)", x=f32(3, 7))
row("rms_norm_written_special", NORM, x=special(3, 6), w=f32(6))
row("rms_norm_written_strides", "y = x.float()\nz = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 0.1)\nw = torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 0.1) * y\nreturn z, z.stride(), w, w.stride()",
    x=permuted(f32(4, 2, 3), 1, 2, 0), also=[{"x": channels_last(f32(2, 3, 4, 4))}])
row("rms_norm_written_then_changed", "y = x.float()\ns = y.pow(2)\ny.add_(1)\nreturn y * torch.rsqrt(s.mean(-1, keepdim=True) + 0.1)", x=f32(2, 3), mutates=True)
row("rms_norm_along_another", "y = x.float()\nreturn y * torch.rsqrt(y.pow(2).mean(0, keepdim=True) + 0.1)", x=f32(2, 3))
