"""Linear, attention and embedding."""
from conformance import *

ODD = tensor([[1.5, NAN, 0.0, -1.0], [INF, 1.0, -0.0, 2.0], [-INF, 0.5, 1.0, -3.0], [1.0, 2.0, 3.0, -4.0], [0.25, -INF, 2.0, 1.0]])

# ---- Linear ------------------------------------------------------------------------------------------

for name, x in {"vector": (5,), "rows": (7, 5), "batch": (2, 3, 5), "deep": (2, 1, 3, 5), "empty": (0, 5), "one": (1, 5), "two": (2, 5)}.items():
    row(f"linear_{name}", "F.linear(x, w, b)", x=f32(*x), w=weight(f32(9, 5)), b=weight(f32(9)),
        also=[{"x": transposed(f32(*x))}, {"x": noncontig(f32(*x))}])
    row(f"linear_{name}_run_time_weight", "F.linear(x, w, b)", x=f32(*x), w=f32(9, 5), b=f32(9))
    row(f"linear_{name}_no_bias", "F.linear(x, w)", x=f32(*x), w=weight(transposed(f32(9, 5))))
    row(f"linear_{name}_relu", "torch.relu(F.linear(x, w, b))", x=f32(*x), w=weight(f32(9, 5)), b=weight(f32(9)))
row("linear_relu6_special", "F.relu6(F.linear(x, w, b))", x=ODD, w=weight(f32(9, 4)), b=weight(f32(9)))
row("linear_1d_weight", "F.linear(x, w)", x=f32(2, 3), w=weight(f32(3)))
row("linear_no_features", "F.linear(x, w, b)", x=f32(3, 0), w=weight(f32(4, 0)), b=weight(f32(4)))

# ---- Attention -----------------------------------------------------------------------------------

ATTEND = "F.scaled_dot_product_attention(q, k, v{})"
# float32 rounds exp and two products


def qkv(b, h, l, s, e, ev=None):
    return dict(q=f32(b, h, l, e), k=f32(b, h, s, e), v=f32(b, h, s, ev or e))


for name, sizes in {"small": (2, 3, 5, 5, 4), "one_query": (1, 2, 1, 9, 8), "block": (1, 1, 32, 32, 16), "past_block": (1, 2, 33, 35, 8),
                    "one_query_odd": (2, 2, 1, 6, 7, 19), "one_of_each": (1, 2, 1, 1, 16), "one_key": (2, 1, 3, 1, 4), "features": (1, 2, 4, 6, 5, 3), "head_32": (1, 4, 17, 17, 32)}.items():
    row(f"attention_{name}", ATTEND.format(""), **qkv(*sizes))
    row(f"attention_{name}_causal", ATTEND.format(", is_causal=True"), **qkv(*sizes))
    b, h, l, s = sizes[:4]
    row(f"attention_{name}_bool_mask", ATTEND.format(", attn_mask=m"), **qkv(*sizes), m=b8(l, s))
    row(f"attention_{name}_float_mask", ATTEND.format(", attn_mask=m"), **qkv(*sizes), m=f32(b, 1, l, s))
row("attention_nothing_seen", ATTEND.format(", attn_mask=m"), m=tensor([[False, False], [True, False]], "b8"), **qkv(1, 1, 2, 2, 4))
row("attention_infinite_mask", ATTEND.format(", attn_mask=m"), m=tensor([[-INF, -INF], [0.0, -INF]]), **qkv(1, 1, 2, 2, 4))
row("attention_padding_mask", ATTEND.format(", attn_mask=m[:, None, None, :]"), m=b8(2, 7), **qkv(2, 3, 5, 7, 4))
row("attention_scale", ATTEND.format(", scale=0.3"), **qkv(1, 2, 3, 4, 8))
row("attention_no_keys", ATTEND.format(""), **qkv(1, 2, 3, 0, 4))
row("attention_no_queries", ATTEND.format(""), **qkv(1, 2, 0, 3, 4))
row("attention_no_batch", ATTEND.format(""), **qkv(0, 2, 3, 3, 4))
row("attention_rank_2", ATTEND.format(""), q=f32(5, 4), k=f32(6, 4), v=f32(6, 4))
row("attention_rank_3", ATTEND.format(", is_causal=True"), q=f32(2, 5, 4), k=f32(2, 5, 4), v=f32(2, 5, 4))
row("attention_f64", ATTEND.format(", attn_mask=m"), q=f64(1, 2, 3, 4), k=f64(1, 2, 5, 4), v=f64(1, 2, 5, 4), m=b8(3, 5))
row("attention_broadcast", ATTEND.format(""), q=f32(2, 2, 3, 4), k=f32(1, 2, 5, 4), v=f32(1, 2, 5, 4))
row("attention_grouped", ATTEND.format(", enable_gqa=True"), q=f32(2, 4, 3, 8), k=f32(2, 2, 5, 8), v=f32(2, 2, 5, 8))
row("attention_of_a_cache", """
keys, values = k.clone(), v.clone()
return [F.scaled_dot_product_attention(q, keys[:, :, :n], values[:, :, :n], enable_gqa=True) for n in [1, 3, 4, 37]]""",
    q=f32(1, 6, 1, 32), k=f32(1, 2, 40, 32), v=f32(1, 2, 40, 32))
row("attention_one_query_infinite", ATTEND.format(", attn_mask=m"), q=f32(1, 1, 1, 4), k=tensor([[[[INF, 0, 0, 0], [1, 2, 3, 4], [NAN, 0, 0, 0]]]]),
    v=f32(1, 1, 3, 4), m=tensor([[True, True, True]], "b8"), also=[{"k": f32(1, 1, 3, 4), "v": tensor([[[[INF, 0, -INF, NAN], [1, 2, 3, 4], [0, 0, 0, 0]]]])}])
row("attention_heads_are_views", """
b, t, c = x.shape
q = (x @ wq).view(b, t, 4, c // 4).transpose(1, 2)
k = (x @ wk).view(b, t, 4, c // 4).transpose(1, 2)
v = (x @ wv).view(b, t, 4, c // 4).transpose(1, 2)
return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c)""",
    x=f32(2, 9, 32), wq=weight(f32(32, 32, lo=-0.2, hi=0.2)), wk=weight(f32(32, 32, lo=-0.2, hi=0.2)), wv=weight(f32(32, 32)),
    also=[{"x": f32(1, 40, 32)}], rtol=5e-5, atol=5e-6,
    why="two products and a softmax, one after the other: 0.6 times the default was measured")
row("attention_refuses_mask_sizes", ATTEND.format(", attn_mask=m"), m=f32(3, 4), raises="", **qkv(1, 2, 3, 3, 4))
row("attention_refuses_int_mask", ATTEND.format(", attn_mask=m"), m=i64(3, 3), raises="Expected attn_mask dtype", **qkv(1, 2, 3, 3, 4))
row("attention_refuses_vectors", ATTEND.format(""), q=f32(3), k=f32(3), v=f32(3), raises="at least 2 dimensional")

# ---- Embedding -----------------------------------------------------------------------------------

for name, at in {"scalar": (), "row": (4,), "table": (2, 3), "empty": (0,), "deep": (2, 1, 3)}.items():
    row(f"embedding_{name}", "F.embedding(i, w)", i=i64(*at, lo=0, hi=6), w=weight(f32(7, 5)))
row("embedding_i32", "F.embedding(i, w)", i=i32(3, lo=0, hi=6), w=weight(f32(7, 5)))
row("embedding_padding_idx", "F.embedding(i, w, padding_idx=2)", i=tensor([1, 2, 0], "i64"), w=weight(f32(3, 4)))
row("embedding_layouts", "F.embedding(i, w)", i=transposed(i64(2, 3, lo=0, hi=6)), w=transposed(f32(7, 5)))
row("embedding_i64_table", "F.embedding(i, w)", i=i64(3, lo=0, hi=6), w=i64(7, 5))
row("embedding_refuses_large", "F.embedding(i, w)", i=tensor([0, 7], "i64"), w=weight(f32(7, 5)), raises="index out of range in self")
row("embedding_refuses_negative", "F.embedding(i, w)", i=tensor([-1], "i64"), w=weight(f32(7, 5)), raises="index out of range in self")
row("embedding_refuses_floats", "F.embedding(i, w)", i=f32(2), w=weight(f32(7, 5)), raises="scalar types: Long, Int")
row("upsample_of_uint8_where_a_size_stays", "(F.interpolate(x, scale_factor=(0.7, 1.3), mode='bilinear'), F.interpolate(x, scale_factor=(2.0, 1.3), mode='bicubic'))", x=u8(1, 2, 3, 3))
row("upsample_of_infinities_in_one_row", "(F.interpolate(x, size=(1, 7), mode='bilinear', align_corners=True), F.interpolate(x, size=(1, 7), mode='bicubic'), F.interpolate(x, size=(2, 4), mode='bilinear'))",
    x=tensor([[[[1.0, -INF, -2.0, 0.25]], [[1.0, 2.0, INF, 3.0]]]]))
row("grid_sample_of_half_volumes", "(F.grid_sample(x, g, 'nearest', 'reflection', True), F.grid_sample(x, g, 'nearest', 'border', False), F.grid_sample(x, g, 'nearest', 'zeros', False), F.grid_sample(x, g, 'nearest', 'reflection', False))",
    x=random("f16", 1, 2, 4, 5, 6), g=random("f16", 1, 3, 7, 9, 3, lo=-1.4, hi=1.4), also=[{"x": random("bf16", 1, 2, 4, 5, 6), "g": random("bf16", 1, 3, 7, 9, 3, lo=-1.4, hi=1.4)}])
row("pad_circular_to_nothing", "aten::_pad_circular(x, pad)", x=f32(2, 1), pad=[-1, 0], also=[{"pad": [0, -1]}, {"x": f32(2, 3), "pad": [-2, -1]}])
