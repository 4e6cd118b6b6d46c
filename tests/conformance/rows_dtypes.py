"""Type promotion: the dtype of a result with operands of several dtypes. A row holds many pairs, to avoid a file
for each pair. Its name has the operator and the kinds of operands."""
from conformance import *

OPERATORS = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "floor_div": "x // y",
    "remainder": "x % y", "lt": "x < y", "eq": "x == y", "ge": "x >= y", "maximum": "torch.maximum(x, y)",
    "where": "torch.where(x > y, x, y)", "pow": "torch.pow(x, y)", "atan2": "torch.atan2(x, y)",
}
NO_BOOL = {"sub", "floor_div", "remainder", "pow"}


def small(dtype, *shape, at_least=1):
    return b8(*shape) if dtype == "b8" else random(dtype, *shape, lo=at_least, hi=5)


for name, body in OPERATORS.items():
    dtypes = [d for d in ALL if d != "b8" or name not in NO_BOOL]
    for a in dtypes:
        others = dtypes
        first = small(a, 5)
        # Two tensors of every dtype; a tensor and a 0-d tensor of every dtype; and a 0-d tensor and a tensor.
        row(f"promote_{name}_{a}_tensors", body, x=first, y=small(others[0], 5),
            also=[{"y": small(b, 5)} for b in others[1:]])
        row(f"promote_{name}_{a}_with_0d", body, x=first, y=small(others[0]),
            also=[{"y": small(b)} for b in others[1:]] + [{"x": small(b), "y": small(a, 2, 3)} for b in others])

for name, body in {"add": "(x + n, n + x)", "sub": "(x - n, n - x)", "mul": "(x * n, n * x)", "div": "(x / n, n / x)",
                   "floor_div": "x // n", "remainder": "(x % n, n % x)", "pow": "(x ** n, n ** x)",
                   "lt": "(x < n, x >= n, x == n, x != n)"}.items():
    for kind, n in (("int", 3), ("float", 2.5)):
        dtypes = [d for d in ALL if d != "b8" or name in ("add", "mul", "div", "lt")]
        cases = [{"x": small(d, 5)} for d in dtypes] + [{"x": small(d)} for d in dtypes]
        row(f"promote_{name}_with_{kind}", body, n=n, x=cases[0]["x"], also=cases[1:])

row("promote_bool_scalar", "(x * b, x == b)", x=f32(3), b=True, also=[{"x": i64(3), "b": False}, {"x": b8(3)}])
row("promote_add_alpha", "(torch.add(x, y, alpha=2), torch.sub(x, y, alpha=2))", x=i64(4), y=i64(4),
    also=[{"x": f32(4)}, {"x": f64(4), "y": f32(4)}, {"x": u8(4, lo=10, hi=20), "y": u8(4, lo=0, hi=5)}])
row("promote_add_alpha_float", "torch.add(x, y, alpha=0.5)", x=f32(4), y=i64(4), also=[{"x": f64(4)}])

PAIRS = [(a, b) for a in ALL for b in ALL]
for name, body in {"cat": "torch.cat([x, y])", "stack": "torch.stack([x, y])",
                   "where_scalar": "torch.where(x > 0, x, 2.5)", "where_int": "torch.where(x > 0, x, 2)"}.items():
    two = "y" in body.replace("torch", "")
    for a in ALL:
        if two:
            row(f"promote_{name}_{a}", body, x=small(a, 3), y=small(ALL[0], 3), also=[{"y": small(b, 3)} for b in ALL[1:]])
    if not two:
        row(f"promote_{name}", body, x=f32(3), also=[{"x": small(a, 3)} for a in ALL] + [{"x": small(a)} for a in ALL])
row("promote_where_0d", "torch.where(x > 0, x, y)", x=f32(3), y=tensor(2.5, "f64"),
    also=[{"x": i64(3)}, {"x": i32(3), "y": tensor(2, "i64")}, {"x": u8(3), "y": tensor(True, "b8")}])
row("promote_cat_of_three", "torch.cat([x, y, z])", x=u8(2), y=i32(2), z=f32(2), also=[{"z": i64(2)}, {"z": b8(2)}])

# Operators that need floats convert integers.
for name in ("sqrt", "exp", "sin", "sigmoid", "tanh", "log", "rsqrt", "reciprocal", "erf", "log1p"):
    row(f"promote_{name}_of_ints", f"torch.{name}(x)", x=small("i64", 5), also=[{"x": small(d, 5)} for d in ("i32", "u8", "b8", "f64")])
for name in ("abs", "neg", "sign", "floor", "ceil", "round", "square", "relu", "clamp"):
    body = {"clamp": "torch.clamp(x, 1, 3)", "relu": "torch.relu(x)"}.get(name, f"torch.{name}(x)")
    row(f"promote_{name}_of_ints", body, x=i64(5), also=[{"x": i32(5)}, {"x": u8(5)}, {"x": f64(5)}])
for name, body in {"sum": "x.sum()", "sum_dim": "x.sum(0)", "prod": "x.prod()", "cumsum": "x.cumsum(0)", "any": "x.any()", "all": "x.all()",
                   "max": "x.max()", "argmax": "x.argmax()", "count_nonzero": "torch.count_nonzero(x)"}.items():
    cases = [{"x": small(d, 5)} for d in ALL if not (d == "b8" and name in ("argmax",))]
    row(f"promote_{name}", body, x=cases[0]["x"], also=cases[1:])
row("promote_mean", "x.mean()", x=f32(5), also=[{"x": f64(5)}])
row("promote_mean_of_ints_refused", "x.mean()", x=i64(5), raises="")
row("promote_sum_to_dtype", "(x.sum(dtype=torch.float64), x.sum(0, dtype=torch.int64), x.mean(dtype=torch.float32))", x=i32(5))

# Conversions.
for d in ALL:
    row(f"convert_{d}_to_all", """
        return (x.to(torch.float32), x.to(torch.float64), x.to(torch.int64), x.to(torch.int32), x.to(torch.uint8), x.to(torch.bool),
                x.float(), x.double(), x.long(), x.int(), x.byte())""",
        x=tensor([0, 1, 0, 1], "b8") if d == "b8" else random(d, 17, lo=0, hi=200), also=[{"x": small(d)}, {"x": random(d, 0)}])
row("convert_negative_floats", "(x.to(torch.int64), x.to(torch.int32), x.to(torch.bool), x.to(torch.float64))",
    x=tensor([-0.0, -0.9, -1.5, -100.25, 0.9, 1.999, 2147483520.0]))
row("convert_wraps_integers", "(x.to(torch.int32), x.to(torch.uint8))", x=tensor([-1, 255, 256, -129, 2147483648, 4294967297], "i64"))
row("convert_special_floats", "(x.to(torch.bool), x.to(torch.float64))", x=tensor([NAN, INF, -INF, -0.0, 1e-45]))
row("convert_type_as", "(x.type_as(y), x.to(y), y.to(x.dtype))", x=i64(3), y=f32(2), also=[{"y": b8(2)}, {"x": f64(2, 3)}])
row("convert_keeps_strides", "x.to(torch.float64).t().is_contiguous()", x=transposed(f32(3, 4)))
row("result_types_of_constructors", """
    return (torch.tensor([1, 2]), torch.tensor([1.5]), torch.tensor(True), torch.tensor(n), torch.tensor(s), torch.arange(n),
            torch.arange(s), torch.zeros(2), torch.ones(2, dtype=torch.int64), torch.full([2], n), torch.full([2], s),
            torch.full([2], True), torch.zeros_like(x), torch.ones_like(x, dtype=torch.bool), torch.empty_like(x).dtype == x.dtype)""",
    n=3, s=2.5, x=u8(2))
row("result_type_functions", """
    return (torch.result_type(x, y), torch.result_type(x, 2), torch.result_type(x, 2.5), torch.promote_types(x.dtype, y.dtype),
            torch.can_cast(x.dtype, y.dtype))""", x=i32(2), y=f32(2), also=[{"y": tensor(1.0, "f64")}, {"x": b8(2), "y": u8(2)}])

# Constant 0-d tensors take part in promotion as numbers do.
row("promote_constant_0d_tensor", "(x + torch.tensor(2.5), x * torch.tensor(3), torch.tensor(1) - x)", x=i64(3), also=[{"x": f32(3)}, {"x": i32(3)}])
row("promote_traced_scalar", """
def f(x):
    return x * 0.5, x + 1, 2 / x, x - 1.5
""", x=i64(3, lo=1, hi=5), trace=True, also=[{"x": f32(3)}])
row("promote_size_arithmetic_traced", """
def f(x):
    n = x.size(0)
    return x / n, x.view(n, -1).sum(1) * (n // 2)
""", x=f32(6), trace=True, also=[{"x": f32(4)}])
