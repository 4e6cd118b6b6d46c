"""Pointwise operators: each one with every dtype that PyTorch supports, with special values, and in all layouts."""
from conformance import *
from conformance import build
from conformance import row as any_row

import torch
import torch.nn.functional as F  # noqa: F401 - expressions use it



def row(name, *body, **inputs):
    any_row(f"pw_{name}", *body, **inputs)


G = torch.Generator().manual_seed(1)


def takes(expression, **inputs):
    """Returns whether PyTorch accepts these inputs."""
    try:
        eval(expression, {"torch": torch, "F": F}, {k: build(v, G, {}) for k, v in inputs.items()})  # noqa: S307
        return True
    except (RuntimeError, TypeError, IndexError):
        return False


VIEWS = ("x", "x[1:, ::2]", "x.t()", "x[0, 0]", "x[:0]", "x[:1].expand(4, 7)")


def unary(name, expression, dtypes=ALL, lo=None, hi=None, odd=True, without=()):
    """Adds a row with special values, float32 in all layouts, and the other dtypes. The tensor replaces @ in the body."""
    inputs, parts = {}, []
    for key in dtypes + ("special",) * odd:
        x = special(29, without=without) if key == "special" else random(key, 5, 7, lo=lo, hi=hi) if key != "b8" else b8(5, 7)
        if takes(expression.replace("@", "x"), x=x):
            inputs[key] = x
            views = VIEWS if key == "f32" else ("x",) if key == "special" else ("x", "x.t()")
            parts += [expression.replace("@", key + view[1:]) for view in views]
    row(name, "(" + ", ".join(parts) + ")", **inputs)


for op in ("sqrt rsqrt exp exp2 expm1 log log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh "
           "atanh sigmoid erf erfc ceil floor round trunc frac abs neg sign sgn square reciprocal isnan isinf isfinite "
           "signbit logical_not bitwise_not nan_to_num positive").split():
    unary(op, f"torch.{op}(@)")
for op in ("relu relu6 hardtanh hardsigmoid hardswish silu mish logsigmoid softplus elu selu celu leaky_relu "
           "hardshrink softshrink tanhshrink softsign").split():
    unary(op, f"F.{op}(@)")
unary("gelu", "F.gelu(@)", without=(MAX, INF))  # PyTorch gives inf and NaN with oneDNN, and a finite number and inf without it
unary("log1p", "torch.log1p(@)", odd=False)  # PyTorch's vector log1p is infinite from 1e38 on
unary("gelu_tanh", "F.gelu(@, approximate='tanh')")
unary("clamp_both", "torch.clamp(@, -1, 2)")
unary("clamp_min", "torch.clamp(@, min=1)")
row("clamp_by_nan", """
    nan = float("nan")
    return (torch.clamp_min(x, nan), torch.clamp_max(x, nan), torch.clamp(x, min=nan), torch.clamp(x, max=nan), torch.clamp(x, nan, 1),
            torch.clamp_min(x, torch.tensor(nan)), torch.clamp_max(x, y), F.relu(x.clamp_min(nan)))""", x=special(17), y=tensor([NAN]), also=[{"x": i64(3)}, {"x": b8(3)}])
unary("clamp_max_float", "torch.clamp(@, max=1.5)")
unary("threshold", "F.threshold(@, 0.5, 7.0)")
unary("elu_scaled", "F.elu(@, alpha=0.3)")
unary("softplus_beta", "F.softplus(@, 3, 4)")
unary("logit_eps", "torch.logit(@, 0.2)")
unary("round_decimals", "torch.round(@, decimals=2)", dtypes=FLOATS)
for e in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5):
    unary(f"pow_{e}".replace(".", "p").replace("-", "m"), f"torch.pow(@, {e})")
unary("pow_of_2", "torch.pow(2, @)", lo=0, hi=9)

# ---- Two operands --------------------------------------------------------------------------------

NOT_ZERO = {dtype: random(dtype, 5, 7, lo=1, hi=7) if dtype != "b8" else b8(5, 7) for dtype in ALL}


PAIRS = [(d, d) for d in ALL] + [("f32", "i64"), ("i64", "f32"), ("u8", "i32"), ("b8", "f64"), ("f32", "f64"),
                                 ("i32", "b8")]
BOTH = (("x", "y"), ("x", "y[0]"), ("x[:, :1]", "y[:1]"), ("x[0, 0]", "y"), ("x", "y[0, 0]"),
        ("x[:, 1::2]", "y[:, ::2][:, 1:]"), ("x.t()", "y.t()"), ("x[:0]", "y[0]"))


def binary(name, expression, other="any", pairs=PAIRS, odd=True):
    """Adds a row with special values, float32 broadcast and in all layouts, and pairs of dtypes. < and > are the operands."""
    inputs, parts = {}, []
    plain = expression.replace("<", "x").replace(">", "y")
    for a, b in pairs:
        x, y = random(a, 5, 7), random(b, 5, 7) if other == "any" else NOT_ZERO[b]
        if not takes(plain, x=x, y=y):
            continue
        inputs[f"x_{a}"], inputs[f"y_{b}"] = x, y
        views = BOTH if (a, b) == ("f32", "f32") else (BOTH[0], BOTH[3], BOTH[4])
        for left, right in views:
            parts.append(expression.replace("<", f"x_{a}" + left[1:]).replace(">", f"y_{b}" + right[1:]))
    if odd and takes(plain, x=special(29), y=special(29)):
        inputs["s"], inputs["t"] = special(29), special(29)
        parts.append(expression.replace("<", "s").replace(">", "t"))
    row(name, "(" + ", ".join(parts) + ")", **inputs)


for op in ("add mul maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and "
           "bitwise_or bitwise_xor atan2").split():
    binary(op, f"torch.{op}(<, >)")
binary("sub", "torch.sub(<, >)")
binary("div", "torch.div(<, >)", other="not zero")
for mode in ("trunc", "floor"):
    binary(f"div_{mode}", f"torch.div(<, >, rounding_mode='{mode}')", other="not zero")
binary("floor_divide", "torch.floor_divide(<, >)", other="not zero")
# PyTorch's vector fmod is NaN where the quotient overflows.
binary("remainder", "torch.remainder(<, >)", other="not zero", pairs=[(d, d) for d in ALL], odd=False)
binary("fmod", "torch.fmod(<, >)", other="not zero", pairs=[(d, d) for d in ALL], odd=False)
# Without special values, quotients are computed in blocks. The quotients of multiples are exact integers, where floor steps.
row("quotients", """
m = torch.round(x) * y
z = x.clone()
z[300] = float('nan')
out: List[Tensor] = []
for a in [x, -x, m, z]:
    for b in [y, -y]:
        out += [torch.remainder(a, b), torch.fmod(a, b), torch.floor_divide(a, b), torch.div(a, b, rounding_mode='floor')]
return out""",
    x=f32(401, lo=-90, hi=90), y=f32(401, lo=0.05, hi=4))
row("quotients_of_numbers", "torch.remainder(x, 0.3), torch.fmod(x, -0.7), x // 1e-3, x % 1e30, torch.remainder(x * 1e9, 3.0), torch.remainder(7.5, x)",
    x=f32(300, lo=0.5, hi=90))
for dtype in ("f32", "i32", "f64"):
    row(f"columns_beside_rows_{dtype}", "x + c, c - x, x.t() + c[:1], torch.maximum(x, c)", x=random(dtype, 5, 301) if dtype == "i32" else special(5, 301, dtype=dtype),
        c=random(dtype, 5, 1), also=[{"c": random(dtype, 1, 1)}])
binary("pow", "torch.pow(<, >)", other="not zero")
SAME = [(d, d) for d in ("f32", "f64")]
for op in ("hypot", "copysign", "logaddexp", "logaddexp2", "xlogy"):
    binary(op, f"torch.{op}(<, >)", pairs=SAME + [("i64", "i64")])
binary("shift_left", "torch.bitwise_left_shift(<, >)")
binary("shift_right", "torch.bitwise_right_shift(<, >)")

for name, text in (("add", "@ + 2"), ("add_float", "@ + 2.5"), ("sub", "@ - 3"), ("rsub", "3 - @"), ("mul", "@ * 2.5"),
                   ("div", "@ / 4"), ("floordiv", "@ // 3"), ("mod", "@ % 4"), ("compare", "@ > 1"), ("equal", "@ == 2.5"),
                   ("and", "@ & 3"), ("or", "@ | 5"), ("xor", "@ ^ 6"), ("add_alpha", "torch.add(@, @, alpha=3)"),
                   ("rsub_alpha", "torch.rsub(@, 4, alpha=2)")):
    unary(f"scalar_{name}", text)
# In PyTorch, x - 2 x of the greatest x is infinite, unless the processor fuses multiplication and addition.
unary("scalar_sub_alpha", "torch.sub(@, @, alpha=2)", without=(MAX,))

row("int_division_by_zero", "torch.floor_divide(x, y)", x=i64(3), y=tensor([1, 0, 2], "i64"), raises="ZeroDivisionError")
row("int_remainder_by_zero", "x % 0", x=i32(3), raises="ZeroDivisionError")
row("int_negative_power", "torch.pow(x, -1)", x=i64(3), raises="negative integer powers")
row("sub_of_bools", "x - y", x=b8(3), y=b8(3), raises="bool tensor")
row("neg_of_bool", "-x", x=b8(3), raises="bool tensor")
row("shapes_that_do_not_broadcast", "x + y", x=f32(2, 3), y=f32(4), raises="must match the size of tensor b")
row("abs_builtin", "(abs(x), abs(y), abs(x[:, ::2]))", x=special(3, 5), y=i64(5))
row("int_wraps", "x + 1, x * 2, -x, x - y, torch.abs(y)", x=tensor([2**63 - 1, -2**63], "i64"),
    y=tensor([2**63 - 1, -2**63], "i64"))
row("int32_wraps", "x + 1, x * 3, -x", x=tensor([2**31 - 1, -2**31], "i32"))
row("uint8_wraps", "x + 200, x - 7, x * 3, -x, ~x", x=tensor([0, 1, 100, 255], "u8"))
row("uint8_beside_a_0d_int", "x + y, x * y, x == y", x=tensor([0, 1, 44, 255], "u8"), y=tensor(300, "i64"))
row("python_division_rules", "x // 3, x % 3, x // -3, x % -3, torch.fmod(x, 3), torch.div(x, 3, rounding_mode='trunc')",
    x=tensor([-7, -6, -1, 0, 1, 6, 7], "i64"))
row("python_division_rules_floats", "x // 3, x % 3, x // -3, x % -3, torch.fmod(x, 3)",
    x=tensor([-7.5, -6.0, -0.5, -0.0, 0.5, 6.0, 7.25]))

# ---- Layouts and storage-------------------------------------------------------------------------

row("result_strides_nhwc", "(x * 2).stride(), (x + y).stride(), torch.relu(x).is_contiguous()",
    x=channels_last(f32(2, 3, 4, 5)), y=channels_last(f32(2, 3, 4, 5)))
row("nhwc_times_channels", "x * w + b", x=channels_last(f32(2, 3, 4, 5)), w=f32(3, 1, 1), b=f32(1, 3, 1, 1))
row("result_strides_turned", "(x + 1).stride(), (x + y).stride()", x=transposed(f32(3, 5)), y=f32(3, 5))
row("rank_8", "x + y", x=f32(2, 1, 2, 1, 2, 1, 2, 3), y=f32(1, 2, 1, 2, 1, 2, 1, 1))
row("inplace_add_turned", "return x.add_(y)", x=transposed(f32(3, 5)), y=f32(3, 5), mutates=True)
row("inplace_on_a_view", "\n    x[1:, ::2].mul_(3)\n    return x", x=f32(4, 6), mutates=True)
row("inplace_int_true_div", "return x.div_(2)", x=i64(3), raises="can't be cast")
row("inplace_compare", "return x.gt_(0)", x=f32(7), mutates=True)
row("inplace_broadcast_is_refused", "return x.add_(y)", x=f32(3), y=f32(2, 3), raises="doesn't match the broadcast shape")
row("inplace_expanded_is_refused", "return x.add_(1)", x=expanded(f32(1, 3), 4, 3), raises="single memory location")
row("inplace_self", "return x.mul_(x)", x=f32(9), mutates=True)
row("inplace_relu", "return torch.relu_(x)", x=special(19), mutates=True)
row("inplace_pow", "return x.pow_(2)", x=f32(6), mutates=True)
row("inplace_and", "\n    x &= y\n    return x", x=i64(5), y=i64(5), mutates=True)
row("inplace_clamp", "return x.clamp_(-1, 1)", x=i32(2, 9), mutates=True)

# ---- Three operands ------------------------------------------------------------------------------

for dtype in ALL:
    row(f"where_{dtype}", "torch.where(c, x, y), torch.where(c[0], x, y), torch.where(c, x, y[0, 0]), torch.where(c.t(), x.t(), y.t())",
        c=b8(3, 9), x=random(dtype, 3, 9), y=random(dtype, 3, 9))
    row(f"masked_fill_{dtype}", "x.masked_fill(c, 1), x[0].masked_fill(c, 0), x.t().masked_fill(c.t(), 1)", c=b8(3, 9), x=random(dtype, 3, 9))
row("where_mixed", "torch.where(c, x, y), torch.where(c, x, 2), torch.where(c, 1.5, y), torch.where(c, 1, 0)",
    c=b8(5), x=i64(5), y=f32(5))
row("masked_fill_inf", "x.masked_fill(c, float('-inf'))", c=b8(1, 1, 5), x=f32(2, 4, 5))
row("masked_fill_tensor", "x.masked_fill(c, v)", c=b8(4, 1), x=f32(4, 5), v=tensor(2, "i64"))
row("masked_fill_through_expanded_mask", "\n    x.masked_fill_(c.expand(3, 4), 9.0)\n    return x", c=b8(3, 1), x=f32(3, 4), mutates=True)
row("masked_fill_through_a_view", "\n    x.view(3, 2).masked_fill_(c.unsqueeze(0), 5.0)\n    return x", c=b8(2), x=f32(6), mutates=True)
row("clamp_tensors", "torch.clamp(x, lo, hi), torch.clamp(x, min=lo), torch.clamp(x, max=hi)", x=special(5, 7), lo=f32(7), hi=f32(5, 1))
row("lerp", "torch.lerp(x, y, 0.3), torch.lerp(x, y, 0.8), torch.lerp(x, y, w)", x=f32(5, 7), y=f32(7), w=f32(5, 1))
row("addcmul", "torch.addcmul(x, y, z, value=0.5), torch.addcdiv(x, y, z + 20, value=-2)", x=f32(5, 7), y=f32(7), z=f32(5, 1))
row("addcmul_ints", "torch.addcmul(x, y, z, value=3)", x=i64(5), y=i64(5), z=i64(5))
row("prelu", "F.prelu(x, w), F.prelu(x, w[:1])", x=f32(2, 3, 5), w=f32(3))
row("glu", "F.glu(x, 0), F.glu(x, 1), F.glu(x)", x=f32(4, 6, 10))
row("isclose", "torch.isclose(x, y), torch.isclose(x, x, equal_nan=True), torch.allclose(x, x), torch.equal(x, x)",
    x=special(23), y=special(23))
row("dropout_in_eval", "F.dropout(x, 0.5, False), torch.feature_dropout(x, 0.3, False)", x=f32(3, 4))
row("rrelu_in_eval", "F.rrelu(x, 0.1, 0.3, False)", x=f32(3, 4))

# ---- Special functions ---------------------------------------------------------------------------

POINTS = tensor([0.0, -0.0, 1.0, -1.0, -2.0, -2.5, -9.75, 0.3, 1e-30, 5.0, 9.99, 10.0, 15.5, 88.0, 89.0, 1e20, -1e20, NAN, INF, -INF])
for op in ("digamma", "i0", "sinc"):
    grid(op, f"torch.{op}(x)", x=ANY, dtypes=ALL)
    row(f"{op}_points", f"torch.{op}(x)", x=POINTS)
    row(f"{op}_wide", f"(torch.{op}(x), torch.{op}(y))", x=f32(1000, lo=-30, hi=30), y=f64(100, lo=0, hi=100))
grid("erfinv", "torch.erfinv(x)", x=any_(lo=-1, hi=1), dtypes=("f32", "f64", "i64", "b8"))
row("erfinv_points", "torch.erfinv(x)", x=tensor([0.0, -0.0, 1.0, -1.0, 1.5, -2.0, 0.999999, -0.99, 0.7, 1e-30, 1e-4, NAN, INF]))
row("special_functions_in_place", "(x.digamma_(), y.erfinv_(), z.i0_(), w.sinc_())", x=f32(5), y=f32(5, lo=-1, hi=1), z=f32(5), w=f32(5))
row("special_functions_by_other_names", "(torch.special.digamma(x), torch.special.psi(x), torch.special.erfinv(y), torch.special.i0(x), torch.special.sinc(x))",
    x=f32(5), y=f32(5, lo=-1, hi=1))

row("logit_at_its_limits", "(torch.logit(x, 1e-6), torch.logit(y, 1e-12))", x=tensor([0.0, 1.0, 1 - 1e-7, 1e-7, 2.0, -1.0]), y=tensor([0.0, 1.0, 2.0, -1.0], "f64"))
row("hardtanh_of_nan_limits", "(F.hardtanh(x, -1.0, float('nan')), F.hardtanh(x, float('nan'), 1.0), F.hardtanh(x.clone(), float('nan'), float('nan'), inplace=True))", x=special(9), also=[{"x": f64(4)}, {"x": random("f16", 4)}])
row("hardtanh_of_integers_and_nan_refused", "F.hardtanh(x, -1.0, float('nan'))", x=i64(3), raises="without overflow")
row("pow_of_bool_by_bool", "(x ** True, x ** False, x ** 2, x ** 1.0)", x=b8(7, 3))
row("pow_of_bool_by_bools_refused", "torch.pow(x, x)", x=b8(3), raises="not implemented for 'Bool'")
row("add_of_bool_with_alpha", "(torch.add(x, y, alpha=-1), torch.add(x, y, alpha=2), torch.add(x, y, alpha=0), torch.add(x, y, alpha=False))", x=b8(9), y=b8(9))
row("elu_of_an_infinite_alpha", "(F.celu(x, a), F.elu(x, a), F.celu(x.clone(), -a, inplace=True))", x=tensor([3.0, -2.0, 0.0, -0.0]), a=INF, also=[{"a": -INF}, {"x": tensor([0.0, -1.0, 2.0], "f64")}])
row("cosine_similarity_of_two_dtypes", "(F.cosine_similarity(x, y, 1), F.cosine_similarity(y, x, 0))", x=random("bf16", 3, 5), y=random("f16", 3, 5), also=[{"y": f32(3, 5)}, {"y": f64(3, 5)}, {"y": f32()}, {"x": random("f16", 3, 5)}])
