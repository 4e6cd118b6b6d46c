"""Indexing: gather and scatter in all forms, masks, sorting and searching."""
from conformance import *

CUBE = {"plain": f32(3, 4, 5), "strided": noncontig(f32(3, 4, 5)), "turned": transposed(f32(3, 4, 5)),
        "permuted": permuted(f32(5, 3, 4), 1, 2, 0), "spread": expanded(f32(3, 1, 5), 3, 4, 5),
        "ints": i64(3, 4, 5), "bools": b8(3, 4, 5), "bytes": u8(3, 4, 5), "doubles": f64(3, 4, 5), "int32": i32(3, 4, 5)}
FEW = {k: CUBE[k] for k in ("plain", "turned", "permuted", "ints")}


def each(name, body, cases=CUBE, **options):
    for case, x in cases.items():
        row(f"{name}_{case}", body, x=x, **options)


# ---- Reading along one dimension ------------------------------------------------------------------

each("index_select", "(x.index_select(0, i), x.index_select(1, j), x.index_select(-1, i), x.index_select(2, e), x.index_select(0, s).stride())",
     i=tensor([2, 0, 0, 1], "i64"), j=tensor([3, 0], "i32"), e=tensor([], "i64"), s=tensor(1, "i64"))
row("index_select_0d", "(x.index_select(0, i), y.index_select(0, i))", x=f32(), y=f32(1), i=tensor([0], "i64"))
row("index_select_rows", "torch.index_select(x, 0, i)", x=f32(17, 33), i=i64(40, lo=0, hi=16))
row("index_select_strided_index", "x.index_select(1, i)", x=f32(3, 7), i=noncontig(i64(5, lo=0, hi=6)))
each("gather", "(x.gather(0, i), x.gather(1, i), x.gather(2, i), x.gather(-1, i[:, :1]), x.gather(0, i[:2, :2, :2]).stride())",
     i=i64(3, 4, 5, lo=0, hi=2))
row("gather_empty_0d", "(x.gather(0, e), z.gather(0, o), z.gather(0, o.view(1)), x.gather(0, o.view(1)))", x=f32(3), e=tensor([], "i64"), z=f32(), o=tensor(0, "i64"))
row("gather_longer_index", "x.gather(1, i)", x=f32(2, 3), i=i64(2, 9, lo=0, hi=2))
row("gather_expanded_index", "x.gather(1, i.unsqueeze(-1).expand(3, 2, 5))", x=f32(3, 4, 5), i=i64(3, 2, lo=0, hi=3))
row("gather_strided_index", "x.gather(0, i)", x=transposed(f32(4, 3)), i=transposed(i64(4, 3, lo=0, hi=3)))
each("take", "(torch.take(x, i), torch.take(x, i[0]), torch.take(x, -1 - i), torch.take(x, i[:, :0]))", i=i64(2, 3, lo=0, hi=59))
each("take_along_dim", "(torch.take_along_dim(x, i, 1), torch.take_along_dim(x, i[:1], 1), torch.take_along_dim(x[:, :, :1], i, 1), torch.take_along_dim(x.reshape(-1), i.view(-1)[:4]))",
     i=i64(3, 2, 5, lo=0, hi=3))
row("gather_beyond", "x.gather(1, i)", x=f32(2, 3), i=tensor([[3]], "i64"), raises="index 3 is out of bounds for dimension 1 with size 3")
row("gather_negative", "x.gather(1, i)", x=f32(2, 3), i=tensor([[-1]], "i64"), raises="index -1 is out of bounds for dimension 1 with size 3")
row("gather_wants_int64", "x.gather(1, i)", x=f32(2, 3), i=tensor([[1]], "i32"), raises="Expected dtype int64 for index")
row("gather_rank", "x.gather(0, i)", x=f32(2, 3), i=tensor([1], "i64"), raises="same number of dimensions as input tensor")
row("gather_too_wide", "x.gather(0, i)", x=f32(2, 3), i=i64(1, 4, lo=0, hi=1), raises="Size does not match at dimension 1")
row("index_select_beyond", "x.index_select(0, i)", x=f32(3), i=tensor([3], "i64"), raises="out of")
row("index_select_2d_index", "x.index_select(0, i)", x=f32(3), i=tensor([[1]], "i64"), raises="supposed to be a vector")
row("index_select_float", "x.index_select(0, i)", x=f32(3), i=tensor([1.0]), raises="Expected dtype int32 or int64 for index")
row("take_beyond", "torch.take(x, i)", x=f32(2, 3), i=tensor([6], "i64"), raises="out of range: tried to access index 6 on a tensor of 6 elements")

row("take_along_dim_flat_strided", "torch.take_along_dim(x, i)", x=transposed(f32(3, 4)), i=i64(2, lo=0, hi=11), raises="Use .reshape(...) instead")

# ---- Writing along one dimension ------------------------------------------------------------------

each("scatter", "(x.scatter(0, i, y), x.scatter(1, i, y), x.scatter(-1, i[:2, :2], y), x.scatter(2, i[:, :0], y))",
     {k: v for k, v in CUBE.items() if k in ("plain", "strided", "turned", "permuted")},
     i=of("torch.stack([torch.randperm(3, generator=torch.Generator().manual_seed(3)) for _ in range(20)], 1).view(3, 4, 5)"), y=f32(3, 4, 5))
row("scatter_value", "(x.scatter(1, i, 7.5), x.scatter(0, i, -1), n.scatter(1, i, 3), b.scatter(1, i, True))",
    x=f32(3, 4), n=i64(3, 4), b=b8(3, 4), i=i64(3, 2, lo=0, hi=2))
row("scatter_in_place", """
    x.scatter_(1, i, y)
    x.t().scatter_(0, i.t(), 5.0)
    return x""", x=f32(3, 4), y=f32(3, 1), i=i64(3, 1, lo=0, hi=3), mutates=True)
row("scatter_reduce_names", "(x.scatter(1, i, y, reduce='add'), x.scatter(1, i, y, reduce='multiply'), x.scatter(1, i, 2.0, reduce='add'), x.scatter(1, i, 3.0, reduce='multiply'))",
    x=f32(3, 4), y=f32(3, 6), i=i64(3, 6, lo=0, hi=3))
each("scatter_add", "(x.scatter_add(0, i, y), x.scatter_add(1, i, y), x.scatter_add(2, i, y))",
     {"plain": f32(3, 4, 5), "turned": transposed(f32(3, 4, 5))}, i=i64(3, 4, 5, lo=0, hi=2), y=f32(3, 4, 5))
row("scatter_add_ints", "(x.scatter_add(0, i, x), u.scatter_add(0, i, u + 100), b.scatter_add(0, i, b))", x=i64(9), u=u8(9), b=b8(9), i=i64(9, lo=0, hi=8))
row("scatter_add_in_place", "x.scatter_add_(0, i, y)", x=f32(3), i=tensor([0, 0, 2, 0], "i64"), y=f32(4), mutates=True)
row("scatter_0d", "(x.scatter(0, i, 2.5), x.scatter_add(0, i, x))", x=f32(), i=tensor(0, "i64"))
for how in ("sum", "prod", "mean", "amax", "amin"):
    for include in (True, False):
        name = f"scatter_reduce_{how}{'' if include else '_without_self'}"
        row(name, f"(x.scatter_reduce(1, i, y, '{how}', include_self={include}), n.scatter_reduce(0, i[:3, :4], n, '{how}', include_self={include}))",
            x=f32(3, 4), y=f32(3, 6), n=i64(3, 4, lo=-9, hi=9), i=i64(3, 6, lo=0, hi=2))
row("scatter_reduce_nan", "(x.scatter_reduce(0, i, y, 'amax'), x.scatter_reduce(0, i, y, 'amin'), x.scatter_reduce(0, i, y, 'sum'))",
    x=tensor([1.0, NAN, -1.0]), y=tensor([NAN, 2.0, -INF, 5.0]), i=tensor([0, 1, 2, 2], "i64"))
each("index_add", "(x.index_add(0, i, y[:2]), x.index_add(1, j, y, alpha=2), x.index_add(-1, j[:0], y[:, :, :0]))",
     {"plain": f32(3, 4, 5), "turned": transposed(f32(3, 4, 5))}, i=tensor([2, 2], "i64"), j=tensor([0, 3, 0, 1], "i32"), y=f32(3, 4, 5))
row("index_add_in_place", "x.index_add_(0, i, y, alpha=-0.5)", x=f32(3, 2), y=f32(5, 2), i=tensor([1, 1, 0, 1, 0], "i64"), mutates=True)
row("index_add_rows", "(x.index_add(0, i, y), x.index_add(0, i, y[:, ::1], alpha=0.5), x.t().index_add(1, i, y.t()), x.scatter_add(0, i.unsqueeze(1).expand_as(y), y), x.index_add(0, i, y * 2).sum())",
    x=f32(3, 131), y=f32(4, 131), i=tensor([2, 0, 2, 2], "i64"), also=[{"x": f32(3, 64), "y": f32(4, 64)}, {"x": f64(3, 131), "y": f64(4, 131)}])
row("index_rows_set", "(x.index_copy(0, i, y), x.index_fill(0, i, 3), x.t().index_fill(1, j, 2), x.index_copy(1, j, y[:3, :3]), x.index_fill(-1, i, 0), x[:, :1].index_fill(0, i, 1))",
    x=f32(3, 131), y=f32(4, 131), i=tensor([2, 0, 2, 1], "i64"), j=tensor([2, 0, 1], "i64"), also=[{"x": f64(3, 5), "y": f64(4, 5)}, {"x": i64(3, 9), "y": i64(4, 9)}, {"x": random("bf16", 3, 131), "y": random("bf16", 4, 131)}, {"x": random("c128", 3, 7), "y": random("c128", 4, 7)}])
row("index_put_lines", "(x.index_put((i,), y), x.index_put((i,), v), x.index_put((i,), y[:, :1]), x.index_put((i,), y, accumulate=True), x.index_put((None, j), x[:, :3] * 2))",
    x=f32(3, 131), y=f32(4, 131), v=f32(1), i=tensor([2, 0, 2, 1], "i64"), j=tensor([2, 0, 1], "i64"), also=[{"x": f64(3, 5), "y": f64(4, 5), "v": f64(1)}, {"x": i64(3, 9), "y": i64(4, 9), "v": i64(1)}])
row("index_add_rows_beyond", "x.index_add(0, i, y)", x=f32(3, 70), y=f32(2, 70), i=tensor([0, 3], "i64"), raises="out of")
row("index_add_ints", "(x.index_add(0, i, y, alpha=3), b.index_add(0, i, b))", x=i64(3), y=i64(3), b=b8(3), i=tensor([1, 1, 0], "i64"))
row("issue_111159_index_add_repeats", "x.index_add_(0, i, y)", x=tensor([[0.0, 0.0], [0.0, 0.0]]), y=f32(3, 2), i=tensor([0, 0, 1], "i64"), mutates=True)
each("index_copy", "(x.index_copy(0, i, y[:2]), x.index_copy(2, i, y[:, :, :2]))", {"plain": f32(3, 4, 5), "turned": transposed(f32(3, 4, 5))},
     i=tensor([2, 0], "i64"), y=f32(3, 4, 5))
row("index_copy_in_place", "x.index_copy_(1, i, y)", x=f32(2, 4), y=f32(2, 2), i=tensor([3, 1], "i64"), mutates=True)
each("index_fill", "(x.index_fill(0, i, 1), x.index_fill(-1, i, v), x.index_fill(1, i[:0], 0))", FEW, i=tensor([2, 0, -1], "i64"), v=tensor(0, "i64"))
row("index_fill_in_place", "x.index_fill_(1, i, 2.5)", x=f32(2, 4), i=tensor([3, 1], "i64"), mutates=True)
row("index_reduce_all", "(x.index_reduce(0, i, y, 'prod'), x.index_reduce(0, i, y, 'amax', include_self=False), x.index_reduce(0, i, y, 'mean'), x.index_reduce(0, i, y, 'amin'))",
    x=f32(3, 2), y=f32(4, 2), i=tensor([1, 1, 0, 1], "i64"))
row("put", "(x.put(i, y), x.put(i, y, True), x.put_(i, y, accumulate=True))", x=transposed(f32(3, 4)), i=tensor([[0, -1], [5, 0]], "i64"), y=f32(2, 2))
row("scatter_beyond", "x.scatter(0, i, 1.0)", x=f32(3), i=tensor([5], "i64"), raises="index 5 is out of bounds for dimension 0 with size 3")
row("scatter_dtypes", "x.scatter(0, i, y)", x=f32(3), y=f64(1), i=tensor([1], "i64"), raises="Expected self.dtype to be equal to src.dtype")
row("scatter_too_large", "x.scatter(0, i, y)", x=f32(3), y=f32(1), i=tensor([1, 2], "i64"), raises="Expected index [2] to be")
row("scatter_expanded", "x.expand(2, 3).scatter_(0, i, 1.0)", x=f32(3), i=tensor([[1]], "i64"), raises="more than one element of the written-to tensor")
row("index_add_beyond", "x.index_add(0, i, y)", x=f32(3), y=f32(1), i=tensor([5], "i64"), raises="out of")
row("index_add_count", "x.index_add(0, i, y)", x=f32(3), y=f32(2), i=tensor([1], "i64"), raises="Number of indices (1) should be equal to source.size(dim): (2)")
row("index_fill_beyond", "x.index_fill(0, i, 1)", x=f32(3), i=tensor([3], "i64"), raises="index 3 is out of bounds for dimension 0 with size 3")

# ---- Advanced indexing ----------------------------------------------------------------------------

I, J, K = tensor([2, 0, 0], "i64"), tensor([1, -1, 3], "i64"), tensor([[0], [2]], "i64")
READS = {
    "first": "x[i]", "second": "x[:, j]", "last": "x[:, :, j]", "two": "x[i, j]", "two_last": "x[:, j, i]",
    "apart": "x[i, :, j]", "three": "x[i, j, i]", "broadcast": "x[k, j]", "broadcast_apart": "x[k, :, j]",
    "matrix": "x[k]", "matrix_middle": "x[:, k]", "with_int": "x[1, j]", "with_slice": "x[1:, j, ::2]",
    "with_none": "x[i, None]", "none_first": "x[None, i, :, j]", "int_between": "x[i, 1, j]", "scalar_tensor": "x[i[0], j]",
    "zero_dim": "x[i[1]]", "empty": "x[i[:0]]", "empty_two": "x[i[:0], :, j[:0]]", "int32": "x[i.int(), j.int()]",
    "int_slice_mix": "x[:, 1:3, j]",
}
for name, expression in READS.items():
    each(f"index_{name}", f"""
        y = {expression}
        return y, y.stride()""", FEW, i=I, j=J, k=K)
each("index_all_dtypes", "(x[i], x[i, j], x[:, j, i])", i=I, j=J)
row("index_strided_indices", """
    y = x[i, j]
    z = x[i.t()]
    return y, y.stride(), z, z.stride()""", x=f32(3, 4, 5), i=transposed(i64(2, 3, lo=0, hi=2)), j=noncontig(i64(2, 3, lo=0, hi=3)))
row("index_rank_5", """
    y = x[:, i, :, j]
    z = x[:, :, i, j]
    return y, y.stride(), z, z.stride(), x[i[:2], :, j[:2], :, i[:2]]""", x=f32(3, 3, 4, 4, 3), i=I, j=J)

MASKS = {
    "whole": "x[x > 0]", "first": "x[m]", "middle": "x[:, n]", "two_dims": "x[mn]", "two_dims_last": "x[:, np]",
    "and_slice": "x[m, 1:]", "and_index": "x[m, i]", "around": "x[m, :, i[:2]]", "none_set": "x[m & ~m]", "bytes": "x[mb]",
    "int_then_mask": "x[0, n]", "with_none": "x[None, m]",
}
M, N, MN, NP = tensor([True, False, True], "b8"), tensor([False, True, True, False], "b8"), b8(3, 4), b8(4, 5)
for name, expression in MASKS.items():
    each(f"mask_{name}", f"""
        y = {expression}
        return y, y.stride()""", {k: FEW[k] for k in ("plain", "permuted")}, m=M, n=N, mn=MN, np=NP, i=tensor([1, 0], "i64"), mb=tensor([1, 0, 2], "u8"))

WRITES = {
    "first": "x[i] = v", "second": "x[:, j] = v", "two": "x[i, j[1:]] = v", "apart": "x[i, :, j[1:]] = v", "broadcast": "x[k, j] = v",
    "mask": "x[x > 0] = v", "mask_first": "x[m] = v", "mask_middle": "x[:, n] = v", "mask_two_dims": "x[mn] = v",
    "slice_and_index": "x[1:, j] = v", "int_and_index": "x[1, j] = v", "empty": "x[i[:0]] = v", "slices": "x[1:, ::2] = v",
    "int": "x[1] = v", "ellipsis": "x[..., 0] = v", "add": "x[i] += v", "mask_mul": "x[x > 0] *= v", "slice_add": "x[:, 1:3] += v",
    "mask_and_slice": "x[m, 1:] = v",
}
for name, statement in WRITES.items():
    each(f"assign_{name}", f"""
        {statement}
        return x""", {k: CUBE[k] for k in ("plain", "turned")}, i=tensor([2, 0], "i64"), j=tensor([1, -1, 3], "i64"), k=K, m=M, n=N, mn=MN,
         v=tensor(2.5), mutates=True)
row("assign_number", """
    x[i] = 3
    x[0, j] = 1.5
    x[x > 100] = 0
    return x""", x=f32(3, 4), i=tensor([2], "i64"), j=tensor([1, 3], "i64"), mutates=True)
row("assign_rows", """
    x[i] = y
    x[:, j] = y[:, :1]
    return x""", x=f32(3, 4), i=tensor([2, 0, 1], "i64"), j=tensor([1, 3], "i64"), y=f32(3, 4))
row("assign_from_itself", """
    x[i] = x[:2].clone()
    x[1:] = x[:-1].clone()
    return x""", x=f32(3, 4), i=tensor([1, 2], "i64"))
row("assign_overlapping", """
    x[i] = x[:2]
    return x""", x=f32(3, 4), i=tensor([1, 2], "i64"), raises="refer to a single memory location")
row("assign_mask_values", """
    x[m] = y
    return x""", x=f32(2, 3), m=tensor([[True, False, True], [False, False, True]], "b8"), y=f32(3))
row("assign_through_view", """
    v = x.t()[1:]
    v[i] = 7
    v[v > 1] = 0
    return v""", x=f32(3, 4), i=tensor([0, 2], "i64"), mutates=True)
row("index_put_repeated", """
    a: List[Optional[Tensor]] = [i]
    b: List[Optional[Tensor]] = [i, j]
    p = x.clone().index_put_(a, y, accumulate=True)
    q = x.index_put(b, y[:, 0], accumulate=True)
    return p, q, x.index_put(b, y[0, 0], True), x""", x=f32(3, 4), y=f32(4, 4), i=tensor([2, 0, 2, 2], "i64"), j=tensor([1, 1, 1, -1], "i64"))
row("index_put_none", """
    a: List[Optional[Tensor]] = [None, j]
    return x.index_put(a, y), x.index_put(a, y, accumulate=True), torch.ops.aten._index_put_impl_(x.clone(), a, y, True)""", x=f32(3, 4), y=f32(3, 2), j=tensor([1, 3], "i64"))
row("index_put_mask_accumulate", """
    a: List[Optional[Tensor]] = [m]
    return x.index_put(a, y, accumulate=True)""", x=f32(4), m=tensor([True, False, True, True], "b8"), y=f32(3), also=[{"y": f32(1)}])
row("index_put_dtypes", """
    a: List[Optional[Tensor]] = [i]
    return n.index_put(a, n[:2], True), u.index_put(a, u[:2] + 250, True), b.index_put(a, b[:2], True), d.index_put(a, d[:2], True)""",
    n=i64(4), u=u8(4), b=b8(4), d=f64(4), i=tensor([3, 3], "i64"))
row("issue_61034_index_put_accumulate", """
    a: List[Optional[Tensor]] = [i]
    return x.index_put(a, y, accumulate=True)""", x=tensor([0.0, 0.0, 0.0]), y=f32(5), i=tensor([0, 1, 0, 0, 1], "i64"))

row("index_beyond", "x[i]", x=f32(3), i=tensor([7], "i64"), raises="index 7 is out of bounds for dimension 0 with size 3")
row("index_beyond_second", "x[:, i]", x=f32(3, 4), i=tensor([-5], "i64"), raises="index -5 is out of bounds for dimension 1 with size 4")
row("index_of_nothing", "x[i]", x=f32(0, 3), i=tensor([0], "i64"), raises="out of bounds for dimension")
row("index_not_checked_when_empty", "x[i]", x=f32(3, 0), i=tensor([1], "i64"))
row("index_too_many", "x[i, i]", x=f32(3), i=tensor([0], "i64"), raises="too many indices for tensor of dimension 1")
row("index_float", "x[y]", x=f32(3), y=f32(1), raises="tensors used as indices must be long, int, byte or bool tensors")
row("index_do_not_broadcast", "x[i, j]", x=f32(3, 4), i=tensor([0, 1], "i64"), j=tensor([0, 1, 2], "i64"), raises="could not be broadcast together with shapes [2], [3]")
row("mask_of_wrong_shape", "x[m]", x=f32(3, 4), m=tensor([True, False], "b8"), raises="The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3, 4] at index 0")
row("assign_wrong_shape", """
    x[i] = y
    return x""", x=f32(3, 4), i=tensor([0, 1], "i64"), y=f32(3), raises="shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2, 4]")
row("assign_wrong_dtype", """
    a: List[Optional[Tensor]] = [i]
    return x.index_put(a, y)""", x=f32(3), i=tensor([0], "i64"), y=f64(1), raises="Index put requires the source and destination dtypes match")

# ---- Masks ----------------------------------------------------------------------------------------

each("nonzero", "(x.nonzero(), x.nonzero().stride(), torch.where(x > 0), torch.argwhere(x))")
row("nonzero_small", "(x.nonzero(), y.nonzero(), z.nonzero(), x.nonzero().size(), torch.where(x))", x=tensor(3.0), y=f32(0, 2), z=tensor([0.0, NAN, -0.0, INF]))
each("masked_select", "(x.masked_select(m), x.masked_select(m[0]), x[0, 0].masked_select(m), x.masked_select(m & ~m))", m=b8(3, 4, 5))
row("masked_scatter", "(x.masked_scatter(m, y), x.masked_scatter(m[0], y), z.masked_scatter(m, y))", x=f32(2, 3), m=b8(2, 3), y=f32(9), z=f32(3))
row("masked_scatter_of_ints", "x.masked_scatter(x > 0, y)", x=i64(17, lo=-3, hi=3), y=i64(19))
row("masked_scatter_in_place", "x.masked_scatter_(m, y)", x=transposed(f32(2, 3)), m=tensor([True, False, True], "b8"), y=f32(2, 2), mutates=True)
row("masked_scatter_too_few", "x.masked_scatter(m, y)", x=f32(3), m=tensor([True, True, False], "b8"), y=f32(1), raises="")
row("masked_select_of_ints", "(x.masked_select(m), u.masked_select(m))", x=i64(5), u=b8(5), m=b8(5))
row("mask_float", "x.masked_select(y)", x=f32(3), y=f32(3), raises="expected BoolTensor for mask")

# ---- By their own names (one_operator.py) ------------------------------------------------------------

AT = dict(x=f32(4, 5), i=[i64(3, lo=-4, hi=3), i64(3, lo=-5, hi=4)])
for name in ("index", "_unsafe_index"):
    row(f"name_{name.strip('_')}_of_tensors", f"aten::{name}.Tensor_hacked_twin(x, i)", also=[{"i": [i64(2, 3, lo=0, hi=3)]}], **AT)
row("name_unsafe_index", "aten::_unsafe_index.Tensor(x, i)", **AT)
PLACES = dict(x=f32(4, 5), i=[tensor([0, 3], "i64"), tensor([1, -1], "i64")], v=f32(2))
row("name_unsafe_index_put", "aten::_unsafe_index_put(x, i, v)", also=[{"v": f32()}], **PLACES)
row("name_unsafe_index_put_of_tensors", "aten::_unsafe_index_put.hacked_twin(x, i, v, True)", **PLACES)
row("name_index_put_impl_of_tensors", "aten::_index_put_impl_.hacked_twin(x, i, v)", mutates=True, **PLACES)
row("name_nonzero_numpy", "aten::nonzero_numpy(x)", x=tensor([[1, 0, 2], [0, 0, 3]], "i64"), also=[{"x": f32(0)}])
