"""Sorting: sort, topk, kthvalue, median, unique, searchsorted. Integers in a narrow range make ties, and the
indices of ties must equal PyTorch's."""
from conformance import *

TIES = i64(40, lo=0, hi=5)
ODD = tensor([3.0, NAN, 1.0, -0.0, NAN, 2.0, 0.0, -INF, INF])

grid("sort", "(torch.sort(x), torch.sort(x, descending=True), x.argsort(-1, True))", dtypes=ALL, x=ANY)
grid("sort_dims", "(torch.sort(x, 0), torch.sort(x, 1, True), torch.sort(x, -1)[0].stride(), x.argsort(1).stride(), torch.msort(x))",
     sizes=[(3, 7), (17, 5), (0, 3), (3, 0)], dtypes=("f32", "i64"), layouts=("", "strided", "turned"), x=ANY)
row("sort_ties", "(torch.sort(x), torch.sort(x, descending=True), torch.sort(x, stable=True, dim=0, descending=False))", x=TIES)
row("sort_special", "(torch.sort(x), torch.sort(x, descending=True), torch.argsort(x, stable=True))", x=ODD)
row("sort_0d", "(torch.sort(x), x.argsort(0))", x=f32())
row("sort_long", "(torch.sort(x), torch.sort(x // 50, descending=True))", x=perm(1000))
row("sort_3d", "(torch.sort(x, 1), torch.sort(x, 0, True), torch.sort(x, 1)[1].stride())", x=permuted(f32(4, 2, 9), 1, 2, 0))

grid("topk", "(torch.topk(x, 1), torch.topk(x, x.size(-1)), torch.topk(x, 2 if x.size(-1) > 1 else 1, largest=False))",
     sizes=[(1,), (5,), (17,), (3, 7)], dtypes=("f32", "f64", "i64", "i32", "u8"), layouts=("", "strided", "turned"), x=ANY)
row("topk_ties", "(torch.topk(x, 4), torch.topk(x, 4, largest=False), torch.topk(x, 20), torch.topk(x, 40), torch.topk(x, 39, largest=False))", x=TIES)
for n in (8, 17, 20, 64, 100, 300, 1000):
    for k in (1, 3, 5, 8):
        row(f"topk_ties_{k}_of_{n}", f"(torch.topk(x, {k}), torch.topk(x, {k}, largest=False), torch.topk(z, {k}))", x=i64(n, lo=0, hi=9), z=tensor([0] * n, "i64"))
row("topk_ties_many", "(torch.topk(x, 500), torch.topk(x, 17, largest=False), torch.topk(x.float() / 3, 100))", x=i64(1000, lo=0, hi=30))
row("topk_sorted_input", "(torch.topk(x, 300), torch.topk(-x, 300), torch.topk(x, 300, largest=False))", x=tensor(list(range(600)), "i64"))
row("topk_organ_pipe", "(torch.topk(x, 100), torch.topk(x, 100, largest=False))", x=tensor(list(range(300)) + list(range(300, 0, -1)), "i64"))
row("topk_special", "(torch.topk(x, 4), torch.topk(x, 4, largest=False), torch.topk(x, 9))", x=ODD)
row("topk_dims", "(torch.topk(x, 2, 0), torch.topk(x, 2, 1), torch.topk(x, 0, 1), torch.topk(x, 2, 0)[0].stride())", x=transposed(f32(3, 4)))
row("topk_0d", "(torch.topk(x, 1), torch.topk(x, 0))", x=f32())
row("topk_too_many", "torch.topk(x, 4)", x=f32(3), raises="selected index k out of range")
row("topk_bool", "torch.topk(x, 1)", x=b8(3), raises="not implemented for 'Bool'")

row("kthvalue", "(torch.kthvalue(x, 1), torch.kthvalue(x, 2, 0), torch.kthvalue(x, 3, 1, True), torch.kthvalue(x, 2, 0)[0].stride())", x=f32(3, 7))
row("kthvalue_ties", "(torch.kthvalue(x, 1), torch.kthvalue(x, 13), torch.kthvalue(x, 20), torch.kthvalue(x, 40))", x=TIES)
row("kthvalue_special", "(torch.kthvalue(x, 1), torch.kthvalue(x, 5), torch.kthvalue(x, 9))", x=ODD)
row("kthvalue_0d", "torch.kthvalue(x, 1)", x=f32())
row("kthvalue_zero", "torch.kthvalue(x, 0)", x=f32(3), raises="selected number k out of range for dimension 0")
for n in (2, 3, 10, 33, 100):
    row(f"kthvalue_ties_of_{n}", f"(torch.kthvalue(x, {n // 2}), torch.kthvalue(z, {(n + 1) // 2}))", x=i64(n, lo=0, hi=4), z=tensor([0] * n, "i64"))
    row(f"median_ties_of_{n}", "(torch.median(x, 0), torch.median(z, 0), torch.nanmedian(x.float(), 0))", x=i64(n, lo=0, hi=4), z=tensor([0] * n, "i64"))
row("median", "(torch.median(x), torch.median(x, 0), torch.median(x, 1, True), torch.median(x, -1)[1].stride())", x=f32(3, 7), also=[{"x": transposed(f32(4, 6))}])
row("median_special", "(torch.median(x), torch.nanmedian(x), torch.median(x, 0), torch.nanmedian(x, 0))", x=ODD, also=[{"x": tensor([NAN, NAN])}])
row("median_ints", "(torch.median(x), torch.median(x, 0), torch.median(x.int()))", x=TIES)
row("median_empty", "(torch.median(x), torch.median(y, 1))", x=f32(0), y=f32(0, 2))
row("median_0d", "(torch.median(x), torch.median(x, 0))", x=f32())
row("median_no_elements", "torch.median(x, 1)", x=f32(2, 0), raises="Expected reduction dim 1 to have non-zero size")

row("unique", "(torch.unique(x), torch.unique(x.view(5, 8).t(), return_inverse=True), torch.unique(x, return_counts=True), torch.unique(x, return_inverse=True, return_counts=True))", x=TIES)
row("unique_small", "(torch.unique(x), torch.unique(b, return_counts=True), torch.unique(z, return_inverse=True), torch.unique(e, return_inverse=True, return_counts=True))",
    x=ODD, b=b8(9), z=f32(), e=f32(0))
row("unique_nan", "torch.unique(x, return_inverse=True, return_counts=True)", x=ODD)
row("unique_along", "(torch.unique(x, dim=0), torch.unique(x, return_inverse=True, return_counts=True, dim=0), torch.unique(x, return_inverse=True, dim=1), torch.unique(x, dim=1).stride())",
    x=i64(9, 3, lo=0, hi=1))
row("unique_along_3d", "torch.unique(x, return_inverse=True, return_counts=True, dim=1)", x=i64(2, 6, 2, lo=0, hi=1))
row("unique_consecutive", "(torch.unique_consecutive(x), torch.unique_consecutive(x, return_inverse=True), torch.unique_consecutive(x, return_counts=True), torch.unique_consecutive(x.view(5, 8), return_inverse=True, return_counts=True))",
    x=i64(40, lo=0, hi=1))
row("unique_consecutive_along", "(torch.unique_consecutive(x, dim=0), torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=1), torch.unique_consecutive(x[0], return_counts=True, dim=0))", x=i64(9, 2, lo=0, hi=1))
row("bincount", "(torch.bincount(x), torch.bincount(x, minlength=9), torch.bincount(x, w), torch.bincount(x, w.double()), torch.bincount(x, x), torch.bincount(x[:0], minlength=3), torch.bincount(x.int()))",
    x=TIES, w=f32(40))
row("bincount_negative", "torch.bincount(x)", x=tensor([1, -1], "i64"), raises="bincount only supports 1-d non-negative integral inputs")

SORTED = tensor([-1.0, 0.0, 0.0, 1.5, 3.0])
row("searchsorted", "(torch.searchsorted(s, x), torch.searchsorted(s, x, right=True), torch.searchsorted(s, x, side='right', out_int32=True), torch.searchsorted(s, x.view(2, 4).t()).stride())",
    s=SORTED, x=tensor([0.0, -5.0, 9.0, 1.5, NAN, INF, -INF, 1.0]))
row("searchsorted_scalars", "(torch.searchsorted(s, 1), torch.searchsorted(s, 0.5, right=True), torch.searchsorted(i, 2.5), torch.searchsorted(i, 3))", s=SORTED, i=tensor([1, 2, 3], "i64"))
row("searchsorted_rows", "(torch.searchsorted(s, x), torch.searchsorted(s, x[:, :0]), torch.searchsorted(s.t().contiguous().t(), x, right=True))", s=tensor([[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]]), x=f32(2, 5, lo=0, hi=7))
row("searchsorted_long", "(torch.searchsorted(s.sort(-1)[0], x), torch.searchsorted(s, x, right=True, sorter=s.argsort(-1)), torch.bucketize(x, s[0].sort(-1)[0]))",
    s=f32(2, 21), x=f32(2, 300), also=[{"s": f64(2, 21), "x": f64(2, 300)}, {"s": i64(2, 21), "x": i64(2, 300)}, {"s": f32(2, 1), "x": i64(2, 257)}])
row("searchsorted_nan", "(torch.searchsorted(s, x), torch.searchsorted(s, x, right=True))", s=tensor([-INF, 0.0, 1.0, NAN, NAN]), x=tensor([NAN, INF, 0.5, -0.0, 2.0]))
row("searchsorted_sorter", "torch.searchsorted(s, x, sorter=o)", s=tensor([5.0, 1.0, 3.0]), x=f32(7, lo=0, hi=6), o=tensor([1, 2, 0], "i64"))
row("searchsorted_dtypes", "(torch.searchsorted(s, i), torch.searchsorted(i, s), torch.searchsorted(i, i))", s=SORTED, i=tensor([0, 1, 2], "i64"))
row("bucketize", "(torch.bucketize(x, s), torch.bucketize(x, s, right=True), torch.bucketize(1.5, s), torch.bucketize(x, s, out_int32=True).dtype, torch.bucketize(i, s))", s=SORTED, x=f32(3, 4), i=i64(3))
row("bucketize_2d", "torch.bucketize(x, s)", x=f32(3), s=f32(2, 2), raises="boundaries tensor must be 1 dimension, but got dim(2)")
row("searchsorted_sides", "torch.searchsorted(s, x, right=True, side='left')", s=SORTED, x=f32(3), raises="side and right can't be set to opposites")
row("mode", "(torch.mode(x), torch.mode(x.view(5, 8), 0), torch.mode(x.view(8, 5), 1, True), torch.mode(b))", x=TIES, b=b8(9))
row("mode_floats", "(torch.mode(x), torch.mode(x, 0), torch.mode(z))", x=tensor([[1.5, -0.0, 1.5], [0.0, 2.5, 0.0]]), z=f32())
row("isin", "(torch.isin(x, y), torch.isin(x, y, invert=True), torch.isin(x, 3), torch.isin(3, x), torch.isin(x, y[:0]), torch.isin(x.view(5, 8).t(), y))", x=TIES, y=tensor([1, 4, 9], "i64"))
row("isin_floats", "(torch.isin(x, x), torch.isin(x, i), torch.isin(i, x))", x=ODD, i=tensor([3, 0, 7], "i64"))

# ---- By their own names (one_operator.py) ------------------------------------------------------------

row("name_unique", "aten::_unique(x, True, True)", x=i64(3, 5), also=[{"x": tensor([2.5, 1.0, 2.5])}])
# These operators also return results that the caller did not request.
row("name_unique_along", "aten::unique_dim(x, 0)", x=i64(5, 1, lo=0, hi=2))
row("name_unique_consecutive_along", "aten::unique_dim_consecutive(x, d)", x=i64(5, 1, lo=0, hi=2), d=0, also=[{"d": 1}])
