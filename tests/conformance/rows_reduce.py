"""Reductions and cumulative operators: dimensions, keepdim, dtypes, layouts, empty tensors, NaN and infinity."""
from conformance import *
from conformance import row as any_row


def row(name, body, **inputs):
    any_row(f"red_{name}", body, **inputs)


CALLS = ("@(x)", "@(x, dim=0)", "@(x, dim=-1, keepdim=True)", "@(x.t(), dim=0)", "@(x.t(), dim=1)", "@(x[:, 1::2], dim=1)",
         "@(x[:1].expand(6, 9), dim=0)")
LISTS = ("@(y, dim=[0, 2])", "@(y, dim=[1, 3], keepdim=True)", "@(n, dim=[2, 3])", "@(n, dim=[1])",
         "@(y.permute(3, 0, 2, 1), dim=[1, 2])")


def calls(op, texts):
    return "(" + ", ".join(text.replace("@", op) for text in texts) + ")"


for op, dtypes, lists in (("torch.sum", ALL, True), ("torch.mean", FLOATS, True), ("torch.amax", ALL, True),
                          ("torch.amin", ALL, True), ("torch.any", ALL, False), ("torch.all", ALL, False),
                          ("torch.argmax", ("f32", "f64", "i64", "i32", "u8"), False), ("torch.argmin", ("f32", "i64"), False),
                          ("torch.var", FLOATS, True), ("torch.std", FLOATS, True), ("torch.prod", ("f32", "f64", "i64"), False),
                          ("torch.max", ALL, False), ("torch.min", ALL, False), ("torch.nansum", ("f32", "i64"), True),
                          ("torch.aminmax", ("f32", "i64"), False)):
    name = op.split(".")[1]
    for dtype in dtypes:
        limits = {} if dtype in ("b8", "u8") else {"lo": -2, "hi": 2} if name == "prod" else {}
        texts = CALLS[1:] if name == "aminmax" else CALLS
        row(f"{name}_{dtype}", calls(op, texts), x=random(dtype, 6, 9, **limits))
    if lists:
        row(f"{name}_of_dims", calls(op, LISTS), y=f32(3, 4, 5, 6), n=channels_last(f32(3, 4, 5, 6)))

# -1 for inf; rows of NaN, infinities of both signs, and zeros
ODD = tensor([[NAN, 1, 2], [INF, 1, 2], [-INF, 1, 2], [INF, -INF, 0], [-INF, -INF, -INF], [0.0, -0.0, 0.0], [1, NAN, NAN]])
for op in ("sum amax amin logsumexp").split():
    row(f"{op}_special", f"torch.{op}(x, dim=[1]), torch.{op}(x, dim=[0])", x=ODD)
for op in ("max", "min"):
    row(f"{op}_special", f"torch.{op}(x, dim=1), torch.{op}(x, dim=0), torch.{op}(x), torch.arg{op}(x), torch.arg{op}(x, 1)", x=ODD)
row("argmax_takes_the_first", "torch.argmax(x), torch.argmax(x, 1), torch.max(x, 0), torch.argmin(x)",
    x=tensor([[1, 3, 3], [3, 3, 0], [0, 0, 0]], "i64"))
row("argmax_of_bools_by_dim", "torch.max(x, 1), torch.min(x, 0)", x=b8(4, 7))
row("argmax_of_columns", "torch.argmax(x, 1), torch.max(x, 1), torch.argmax(x, 0)", x=f32(3, 70, 33))
row("argmax_long", "torch.argmax(x), torch.argmax(x, 1), torch.max(x, 1)", x=f32(3, 1000))

row("sum_empty", "torch.sum(x), torch.sum(x, 0), torch.sum(x, 1), torch.prod(x), torch.prod(x, 1), torch.mean(x), torch.any(x), torch.all(x)",
    x=f32(3, 0))
row("max_empty", "torch.max(x)", x=f32(0), raises="Specify the reduction dim")
row("argmax_empty_dim", "torch.argmax(x, 1)", x=f32(3, 0), raises="non-zero size")
row("amax_empty_other_dim", "torch.amax(x, 0), torch.max(x, 0), torch.argmax(x, 0)", x=f32(3, 0))
row("sum_0d", "torch.sum(x), torch.sum(x, 0), torch.max(x, 0), torch.argmax(x), torch.mean(x, -1), torch.cumsum(x, 0)", x=f32())
row("sum_wrong_dim", "torch.sum(x, 2)", x=f32(3, 4), raises="Dimension out of range")
# dim=[] reduces all dimensions, but any and all reduce none
for op in ("sum mean amax amin std var std_mean var_mean norm nansum count_nonzero linalg.vector_norm").split():
    row(f"{op.split('.')[-1]}_no_dims", f"torch.{op}(x, dim=torch.jit.annotate(List[int], []))", x=f32(3, 4))
row("keepdim_no_dims", "torch.sum(x, n, True), torch.amax(x, n, True), torch.logsumexp(x, n, True), torch.norm(x, 1, n, True), "
    "torch.std(x, n, keepdim=True)", types={"n": "List[int]"}, n=[], x=f32(3, 4))
row("logsumexp_no_dims", "torch.logsumexp(x, n)", types={"n": "List[int]"}, n=[], x=f32(3, 4), raises="doesn't match the broadcast shape")
for dtype in ALL:
    row(f"truth_no_dims_{dtype}", "torch.any(x, dim=n), torch.all(x, dim=n), torch.any(x.t(), dim=n).stride(), "
        "torch.all(x, dim=n, keepdim=True), torch.any(x[:0], dim=n), torch.all(x[0, 0], dim=n)", types={"n": "List[int]"}, n=[],
        x=random(dtype, 3, 5, **({} if dtype in ("b8", "u8") else {"lo": -2, "hi": 2})))
row("sum_repeated_dim", "torch.sum(x, [0, -2])", x=f32(3, 4), raises="appears multiple times")
row("mean_of_ints", "torch.mean(x)", x=i64(3), raises="could not infer output dtype")
row("dtypes", "torch.sum(x, dtype=torch.float64), torch.sum(i, dtype=torch.float32), torch.mean(i, dtype=torch.float32), "
    "torch.prod(i, 0, dtype=torch.float64), torch.sum(i, 1, dtype=torch.int32)", x=f32(5, 6), i=i64(5, 6))
row("ints_widen", "torch.sum(x), torch.sum(y), torch.sum(z), torch.prod(x[:2])", x=u8(300), y=b8(300), z=i32(300))
row("sum_long", "torch.sum(x), torch.mean(x), torch.sum(x.view(-1, 64), 0), torch.sum(x.view(64, -1), 1)",
    x=f32(1 << 16, lo=0, hi=1))
row("var_far_from_zero", "torch.var(x), torch.std(x, 1), torch.var(x, 0), torch.var_mean(x, 1)", x=f32(50, 70, lo=1000, hi=1001))
row("var_corrections", "torch.var(x, unbiased=False), torch.var(x, 1, unbiased=False), torch.var(x, dim=[0], correction=2), "
    "torch.std_mean(x, 1), torch.var_mean(x, dim=[0], correction=0), torch.var(x[:1], 0)", x=f32(7, 9))
for p in ("0", "1", "2", "3", "0.5", "float('inf')", "-float('inf')"):
    name = p.replace(".", "p").replace("float('inf')", "inf").replace("-", "minus_")
    row(f"norm_{name}", f"torch.norm(x, {p}), torch.linalg.vector_norm(x, {p}, dim=[1]), torch.norm(x, p={p}, dim=[0], keepdim=True)",
        x=f32(6, 9))
row("norm_default", "torch.norm(x), torch.linalg.vector_norm(x), x.norm(2, [0, 1]), torch.linalg.norm(x[0])", x=f32(6, 9))
row("normalize", "F.normalize(x), F.normalize(x, p=1.0, dim=0), F.normalize(x * 0)", x=f32(6, 9))
row("logsumexp", "torch.logsumexp(x, 1), torch.logsumexp(x, [0, 1], keepdim=True), torch.logsumexp(x * 100, 0)", x=f32(6, 300))
row("count_nonzero", "torch.count_nonzero(x), torch.count_nonzero(x, dim=1), torch.count_nonzero(x, dim=[0, 1])",
    x=tensor([[0, 1, NAN], [0.0, -0.0, 2]]))
row("cosine_similarity", "F.cosine_similarity(x, y), F.cosine_similarity(x, y[0], dim=-1), F.cosine_similarity(x * 0, y, dim=0)",
    x=f32(5, 7), y=f32(5, 7))
for dtype in ("f32", "f64", "i64", "i32", "u8", "b8"):
    row(f"cumsum_{dtype}", "torch.cumsum(x, 0), torch.cumsum(x, -1), torch.cumsum(x.t(), 0), torch.cumsum(x[:0], 1)", x=random(dtype, 5, 7))
row("cumprod", "torch.cumprod(x, 0), torch.cumprod(x, 1), torch.cumprod(i, 1), torch.cumsum(i, 0, dtype=torch.float32)", x=f32(5, 7), i=i64(4, 5))
row("cummax", "torch.cummax(x, 0), torch.cummin(x, 1), torch.cummax(i, 1)", x=ODD, i=i64(4, 9))

# ---- By their own names (one_operator.py) ------------------------------------------------------------

row("name_std_correction", "aten::std.correction(x, d, correction=n)", x=f32(5, 6), d=[1], n=2, also=[{"d": None, "n": 0}, {"n": 0.5}])
row("name_std_mean_correction", "aten::std_mean.correction(x, d, correction=n)", x=f32(5, 6), d=[1], n=2, also=[{"d": None, "n": 0}])
row("name_var_mean", "aten::var_mean(x, unbiased=u)", x=f32(5, 6), u=True, also=[{"u": False}])
row("name_norm_dtype", "aten::norm.ScalarOpt_dtype(x, p, dtype=7)", x=f32(5, 6), p=2, also=[{"p": 1.5}])
row("name_norm_along_dtype", "aten::norm.ScalarOpt_dim_dtype(x, p, d, False, dtype=7)", x=f32(5, 6), p=2, d=[1], also=[{"p": 1.5}])
row("name_special_logsumexp", "aten::special_logsumexp(x, d, True)", x=f32(5, 6), d=[1], also=[{"d": [0, 1]}])

# PyTorch returns the absolute value of a single element for every power, and 0 for no element.
ORDERS = "(" + ", ".join(f"torch.linalg.vector_norm(x, {p}, dim=d)" for p in ("2", "-2", "2.5", "0", "float('inf')", "float('nan')")) + ")"
row("norm_of_single_elements", ORDERS, x=tensor([[1e200], [-3.0], [0.0]], "f64"), d=1, also=[{"x": tensor([[1e30], [-1e-30]])}, {"x": tensor([[1e200 + 1e200j]], "c128")}, {"x": tensor([[5.0, -7.0]]), "d": 0}])
row("norm_of_order_nan", "(torch.linalg.vector_norm(x, float('nan')), torch.norm(x, float('nan')), torch.norm(x, float('nan'), 0))", x=f32(3, 2), also=[{"x": f64(0, 1)}, {"x": f32(1, 1)}, {"x": f64(1, 3)}])
row("logsumexp_of_nothing", "(torch.logsumexp(x, []), torch.logsumexp(x, [], True), torch.special.logsumexp(x, []))", x=f32(3, 0), also=[{"x": f64(0)}, {"x": random("i16", 2, 0)}])
row("logsumexp_of_no_dims_refused", "torch.logsumexp(x, [])", x=f32(3, 2), raises="doesn't match the broadcast shape")
