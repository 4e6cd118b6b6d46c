"""Views, and the operators that join, repeat and copy. Strides are part of the answer wherever a
program could see them; writing through a view shows that it is one."""
from conformance import *

#: Layouts of a 3-d tensor: the view rules differ for each.
CUBE = {"plain": f32(2, 3, 4), "strided": noncontig(f32(2, 3, 4)), "turned": transposed(f32(2, 3, 4)),
        "permuted": permuted(f32(4, 2, 3), 1, 2, 0), "spread": expanded(f32(2, 1, 4), 2, 3, 4),
        "empty": f32(2, 0, 4), "ones": f32(1, 3, 1)}


def each(name, body, cases=CUBE, **options):
    for case, x in cases.items():
        row(f"{name}_{case}", body, x=x, **options)


def views(name, expression, cases=CUBE, **options):
    """The view's sizes, strides, offset and elements, and that writing it writes x."""
    for case, x in cases.items():
        body = f"""
            y = {expression}
            return y.clone(), y.size(), y.stride(), y.storage_offset()"""
        row(f"view_{name}_{case}", body, x=x, **options)
    row(f"view_{name}_writes_through", f"""
        y = {expression}
        y.mul_(2)
        y += 1
        return y""", x=f32(2, 3, 4), mutates=True)


# ---- One view per operator, over all layouts ------------------------------------------------------

views("permute", "x.permute(2, 0, 1)")
views("permute_negative", "x.permute([-1, 0, -2])")
views("transpose", "x.transpose(0, -1)")
views("t", "x[0].t()")
views("numpy_T", "x[0].T")
views("mT", "x.mT")
views("movedim", "torch.movedim(x, 0, 2)")
views("movedim_list", "torch.movedim(x, [0, 1], [2, 0])")
views("swapaxes", "torch.swapaxes(x, 1, 2)")
views("select", "x.select(2, 1)", {k: v for k, v in CUBE.items() if k != "ones"})
views("select_negative", "x.select(-1, -1)")
views("slice", "x[:, 1:, ::2]")
views("slice_beyond", "x[:, -7:9, 3:1]", {k: v for k, v in CUBE.items()})
views("slice_steps", "x[1:, ::2, ::3]")
views("narrow", "x.narrow(0, -1, 1)")
views("unsqueeze_first", "x.unsqueeze(0)")
views("unsqueeze_middle", "x.unsqueeze(2)")
views("unsqueeze_last", "x.unsqueeze(-1)")
views("squeeze", "x.unsqueeze(1).squeeze()")
views("squeeze_dim", "x.unsqueeze(1).squeeze(1)")
views("squeeze_dims", "torch.squeeze(x.unsqueeze(1).unsqueeze(0), [0, 2])")
views("diagonal", "x.diagonal(0, 0, 2)")
views("diagonal_above", "x.diagonal(1, 1, 2)")
views("diagonal_below", "x.diagonal(-1, -1, 0)")
views("diagonal_beyond", "x.diagonal(9)")
views("unfold", "x.unfold(2, 1, 2)")
views("expand_more", "x.unsqueeze(0).detach()")
views("view_as", "x.unsqueeze(1).squeeze(1)")
views("alias", "x.detach()")
views("unbind", "x.unbind(0)[0]")
views("split", "x.split(1, 0)[0]")
views("chunk", "x.chunk(2, 2)[1]", {k: v for k, v in CUBE.items() if k != "ones"})
views("select_slice_permute", "x[:, :, 0].t()[1:]")

# ---- reshape: a view where it can be, a copy where not --------------------------------------------

for shape in ("-1", "6, 4", "2, 12", "4, 3, 2", "2, 3, 2, 2", "2, 1, 3, 4, 1", "1, 24"):
    name = shape.replace(", ", "x").replace("-1", "flat")
    each(f"reshape_{name}", f"""
        y = x.reshape({shape})
        return y.clone(), y.stride(), y.storage_offset()""",
         {k: v for k, v in CUBE.items() if k not in ("empty", "ones")})
each("flatten", "(x.flatten(), x.flatten(1), x.flatten(0, 1), x.flatten(-2, -1), x.flatten(1, 1))")
each("flatten_strides", "(x.flatten().stride(), x.flatten(1).stride(), x.flatten(0, 1).stride())")
each("ravel", "x.ravel()")
each("unflatten", "(x.unflatten(2, (-1, 1)), x.unflatten(0, (1, -1)).stride())")
row("unflatten_two", "(x.unflatten(1, (2, -1, 3)), x.unflatten(-1, [12]))", x=f32(2, 12))
row("flatten_0d", "(x.flatten(), x.reshape(-1), x.reshape(1, 1), x.view(1), x.ravel())", x=f32())
row("reshape_to_0d", "(x.reshape([]), x.view(torch.jit.annotate(List[int], [])))", x=f32(1, 1))
row("reshape_empty", "(x.reshape(0, 7), x.reshape(3, 0), x.view(2, -1, 3).stride())", x=f32(2, 0, 3))
row("reshape_as", "(x.reshape_as(y), x.view_as(y))", x=f32(2, 6), y=f32(3, 4))
row("reshape_writes_through_when_it_can", """
    a = x.reshape(4, 3)
    a.add_(1)
    b = x.t().reshape(-1)
    b.add_(100)
    return a, b""", x=f32(3, 4), mutates=True)
row("view_of_a_slice", """
    y = x[:, 1:3].view(2, 2, 2)
    y.zero_()
    return y.stride()""", x=f32(2, 4, 2), mutates=True)
row("expand", "(x.expand(4, 2, 3), x.expand(-1, 3).stride(), x.expand(5, -1, -1).stride())", x=f32(2, 1))
row("expand_0d", "(x.expand(3), x.expand(2, 2).stride(), x.expand([]))", x=f32(), raises=None,
    types={"x": "Tensor"})
row("expand_as", "(x.expand_as(y), x.broadcast_to([2, 3]).stride())", x=f32(3), y=f32(2, 3))
row("expand_to_zero", "(x.expand(0), x.expand(0, 1).size())", x=f32(1))
row("broadcast_tensors", "torch.broadcast_tensors([x, y, z])", x=f32(2, 1), y=f32(3), z=f32())
row("as_strided", "(x.as_strided([2, 2], [1, 2]), x.as_strided([3], [4], 1), x.as_strided([2, 3], [0, 1]))", x=f32(3, 4))
row("as_strided_of_view", "(x[1:].as_strided([2], [1]), x[1:].as_strided([2], [1], 0))", x=f32(3, 4))
row("as_strided_writes_through", """
    x.as_strided([2, 2], [3, 1], 1).fill_(7)
    return x""", x=f32(3, 4))
row("unfold_overlapping", "(x.unfold(0, 3, 1), x.unfold(0, 2, 3), x.unfold(0, 7, 1).size())", x=f32(7))
row("unfold_2d", "(x.unfold(0, 2, 1).unfold(1, 2, 2), x.unfold(1, 4, 4).stride())", x=f32(3, 4))
row("atleast", "(torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x), torch.atleast_3d(y), torch.atleast_2d(y))",
    x=f32(), y=f32(3))
row("views_of_ints", "(x.t(), x[1], x[:, ::2], x.reshape(-1), x.unsqueeze(1))", x=i64(3, 4))
row("views_of_bools", "(x.t(), x[1], x[:, ::2], x.reshape(4, 3))", x=b8(3, 4))
row("view_rank_8", "(x.view(1, 2, 1, 3, 1, 2, 1, 1).permute(7, 6, 5, 4, 3, 2, 1, 0), x.view(2, 1, 3, 1, 2, 1, 1, 1).squeeze())", x=f32(2, 3, 2))

# ---- Taking apart --------------------------------------------------------------------------------

row("split_uneven", "(x.split(2), x.split(3, 1), x.split(99, -1))", x=f32(5, 7))
row("split_sizes", "(x.split([1, 4]), x.split([2, 0, 5], 1), torch.split_with_sizes(x, [3, 2], 0))", x=f32(5, 7))
row("split_empty", "(x.split(2), x.split(0), x.chunk(3), torch.tensor_split(x, 3))", x=f32(0, 3))
row("chunk_uneven", "(x.chunk(3), x.chunk(4, 1), x.chunk(99), torch.unsafe_chunk(x, 2))", x=f32(5, 7))
row("tensor_split", "(torch.tensor_split(x, 3), torch.tensor_split(x, [1, 4], 1), torch.tensor_split(x, [4, 1, -1], 1))", x=f32(5, 7))
row("tensor_split_tensor", "(torch.tensor_split(x, n), torch.tensor_split(x, i, 1))", x=f32(5, 7), n=tensor(2, "i64"), i=tensor([2, 2, 9], "i64"))
row("hvd_split", "(torch.hsplit(x, 2), torch.vsplit(x, [1]), torch.dsplit(x, 3), torch.hsplit(y, 2))", x=f32(2, 4, 3), y=f32(4))
row("unbind", "(x.unbind(), x.unbind(1), x.unbind(-1)[0].stride())", x=f32(2, 3, 4))
row("unbind_none", "len(x.unbind(0))", x=f32(0, 3))
row("parts_write_through", """
    a, b = x.chunk(2)
    a.zero_()
    b[0] = 5
    for r in x.unbind(1):
        r.add_(1)
    x.split([1, 3], 1)[1].mul_(2)
    return a, b""", x=f32(4, 4), mutates=True)

# ---- Joining -------------------------------------------------------------------------------------

row("cat", "(torch.cat([x, y]), torch.cat([x, x], 1), torch.cat([x, y, x], -2))", x=f32(2, 3), y=f32(4, 3))
row("cat_dtypes", "(torch.cat([x, i]), torch.cat([i, b]), torch.cat([d, x, i]), torch.cat([u, b]))",
    x=f32(3), i=i64(2), b=b8(2), d=f64(1), u=u8(3))
row("cat_0d_promotes_not", "torch.cat([x, y]).dtype", x=f32(1), y=i64(3))
row("cat_legacy_empty", "(torch.cat([e, x]), torch.cat([x, e], 1), torch.cat([e, e]), torch.cat([e, x, e], -1))", x=f32(2, 3), e=f32(0))
row("cat_empty_parts", "(torch.cat([x, y], 1), torch.cat([y, y]), torch.cat([x, z]))", x=f32(2, 3), y=f32(2, 0), z=f32(0, 3))
row("cat_one", """
    y = torch.cat([x])
    y.zero_()
    return x, y.stride()""", x=transposed(f32(2, 3)))
row("cat_strided", "(torch.cat([x, y]), torch.cat([y, x], 1), torch.cat([x.t(), y.t()], 1))", x=noncontig(f32(3, 3)), y=transposed(f32(3, 3)))
row("cat_channels_last", """
    y = torch.cat([a, b], 1)
    z = torch.cat([a, c], 1)
    return y, y.stride(), z.stride(), torch.cat([a[:, :1], a[:, :1]], 1).stride(), torch.cat([a, a], 2).stride()""",
    a=channels_last(f32(2, 3, 4, 5)), b=channels_last(f32(2, 2, 4, 5)), c=f32(2, 2, 4, 5))
row("cat_channels_last_3d", """
    y = torch.cat([a, a], 1)
    return y, y.stride()""", a=channels_last(f32(2, 3, 2, 3, 2)))
row("cat_overlapping_itself", "torch.cat([x, x[1:], x.expand(2, 3)[:, :1].squeeze()])", x=f32(3))
row("cat_many", "torch.cat([x] * 40, 1)", x=f32(3, 2))
row("stack", "(torch.stack([x, y]), torch.stack([x, y], 1), torch.stack([x, y, x], -1))", x=f32(2, 3), y=f32(2, 3))
row("stack_0d", "(torch.stack([x, y]), torch.stack([i, x]))", x=f32(), y=f32(), i=i64())
row("stack_empty", "(torch.stack([x, x]), torch.stack([x, x], -1))", x=f32(0))
row("stack_strides", """
    return (torch.stack([a, a]).stride(), torch.stack([a, a], 1).stride(), torch.stack([a, a], 4).stride(),
            torch.stack([a.t() for a in [a[0, 0]]]).stride())""", a=channels_last(f32(2, 3, 4, 5)))
row("hvd_stack", "(torch.hstack([x, x]), torch.vstack([x, x]), torch.dstack([x, x]), torch.column_stack([x, x]), torch.hstack([y, y]), torch.row_stack([x, x]))",
    x=f32(3), y=f32(2, 3))
row("stacks_of_0d", "(torch.hstack([x, x]), torch.vstack([x, x]), torch.dstack([x, x]), torch.column_stack([x, x]))", x=f32())
row("column_stack_mixed", "torch.column_stack([x, y, x])", x=f32(3), y=f32(3, 2))
row("cat_nothing", "torch.cat(xs)", xs=[], types={"xs": "List[Tensor]"}, raises="non-empty list")
row("cat_ranks_differ", "torch.cat([x, x[0]])", x=f32(2, 3), raises="Tensors must have same number of dimensions")
row("cat_sizes_differ", "torch.cat([x, y])", x=f32(2, 3), y=f32(2, 4), raises="Sizes of tensors must match except in dimension 0")
row("cat_0d", "torch.cat([x, x])", x=f32(), raises="cannot be concatenated")
row("stack_sizes_differ", "torch.stack([x, y])", x=f32(2), y=f32(3), raises="stack expects each tensor to be equal size")

# ---- Repeating, turning, rolling -----------------------------------------------------------------

row("repeat", "(x.repeat(2, 1), x.repeat(1, 3), x.repeat(2, 2, 2), x.repeat(0, 1), x.repeat(1, 1))", x=f32(2, 3))
row("repeat_strided", "(x.repeat(2, 3), x.repeat(2, 1, 1, 2))", x=transposed(f32(3, 5)))
row("repeat_0d", "(x.repeat(3), x.repeat(2, 2), x.repeat(torch.jit.annotate(List[int], [])))", x=f32())
row("repeat_ints", "(x.repeat(3), b.repeat(2, 2))", x=i64(2), b=b8(3))
row("tile", "(x.tile([2]), x.tile([2, 1, 2]), x.tile([1, 2]))", x=f32(2, 3))
row("repeat_interleave_int", "(x.repeat_interleave(2), x.repeat_interleave(3, 1), x.repeat_interleave(2, -2), x.repeat_interleave(0, 0))", x=noncontig(f32(2, 3)))
row("repeat_interleave_tensor", "(x.repeat_interleave(n, 0), x.repeat_interleave(m), torch.repeat_interleave(n), x.repeat_interleave(one, 1))",
    x=f32(2, 3), n=tensor([3, 0], "i64"), m=tensor([0, 1, 2, 0, 1, 2], "i32"), one=tensor([2], "i64"))
row("repeat_interleave_negative", "x.repeat_interleave(n)", x=f32(2), n=tensor([1, -1], "i64"), raises="repeats can not be negative")
row("repeat_interleave_wrong_size", "x.repeat_interleave(n)", x=f32(2), n=tensor([1, 1, 1], "i64"), raises="repeats must have the same size as input along dim")
each("flip", "(x.flip(0), x.flip([1, 2]), x.flip([0, -1]), x.flip([1]).stride())")
row("flip_0d_and_lr", "(x.flip([]) if False else x, y.fliplr(), y.flipud(), y.flip(0))", x=f32(), y=i64(3, 4))
row("flip_channels_last", "(x.flip([1, 3]), x.flip([2]).stride())", x=channels_last(f32(1, 3, 2, 5)))
each("rot90", "(x.rot90(), x.rot90(2, [0, 2]), x.rot90(-1, [1, 2]), x.rot90(4, [0, 1]), x.rot90(1, [2, 0]).stride())")
each("roll", "(x.roll(1), x.roll(-2, 1), x.roll([1, 2], [0, 2]), x.roll(7, -1), x.roll(1, 0).stride())")
row("roll_0d", "x.roll(1)", x=f32())
row("meshgrid", "(torch.meshgrid([x, y]), torch.meshgrid([x, y], indexing='xy'), torch.meshgrid([x, y, z], indexing='xy'), torch.meshgrid([x]))",
    x=f32(3), y=f32(2), z=f32())
row("meshgrid_strides", """
    a, b, c = torch.meshgrid([x, y, x], indexing='xy')
    return a.stride(), b.stride(), c.stride(), torch.meshgrid([x, y], indexing='ij')[1].stride()""", x=f32(3), y=noncontig(f32(2)))
row("tril_triu_indices", "(torch.tril_indices(3, 4), torch.triu_indices(4, 3, 1), torch.tril_indices(3, 3, -1), torch.tril_indices(2, 5, 9), torch.triu_indices(3, 2, -9), torch.tril_indices(0, 3))", n=0)

# ---- Copies --------------------------------------------------------------------------------------

each("clone", "(x.clone(), x.clone().stride(), x.clone(memory_format=torch.contiguous_format).stride())")
each("contiguous", "(x.contiguous(), x.contiguous().stride(), x.is_contiguous())")
row("clone_channels_last", """
    y = x.clone()
    return y, y.stride(), x.contiguous().stride(), x.contiguous(memory_format=torch.channels_last).stride(), x.is_contiguous(memory_format=torch.channels_last)""",
    x=channels_last(f32(2, 3, 4, 5)), also=[{"x": f32(2, 3, 4, 5)}, {"x": f32(2, 1, 4, 5)}, {"x": f32(1, 3, 1, 1)}])
row("clone_is_apart", """
    y = x.clone()
    y.zero_()
    return x""", x=f32(3))
row("contiguous_is_itself", """
    y = x.contiguous()
    y.zero_()
    return y""", x=f32(3, 4), mutates=True, also=[{"x": transposed(f32(3, 4))}])
row("copy_broadcast", "x.copy_(y)", x=f32(2, 3), y=f32(3), mutates=True, also=[{"y": f32(2, 1)}, {"y": f32()}, {"x": transposed(f32(2, 3))}])
row("copy_dtypes", """
    a = torch.zeros(4, dtype=torch.int64).copy_(x)
    b = torch.zeros(4, dtype=torch.bool).copy_(x)
    c = torch.zeros(4, dtype=torch.float64).copy_(i)
    d = torch.zeros(4, dtype=torch.uint8).copy_(i)
    return a, b, c, d""", x=tensor([1.5, -2.5, 0.0, 3.99]), i=tensor([1, 255, 256, 70000], "i64"))
row("copy_overlapping", """
    x[1:].copy_(x[:-1].clone())
    x.copy_(x)
    x[::2].copy_(x[1::2])
    return x""", x=f32(8))
row("copy_overlapping_partly", "x[1:].copy_(x[:-1])", x=f32(8), raises="refer to a single memory location")
row("copy_too_large", "x.copy_(y)", x=f32(3), y=f32(2, 3), raises="doesn't match the broadcast shape")
row("copy_mismatch", "x.copy_(y)", x=f32(3), y=f32(2), raises="must match the size of tensor b (2) at non-singleton dimension 0")
row("copy_to_expanded", "x.expand(2, 3).copy_(y)", x=f32(3), y=f32(2, 3), raises="more than one element of the written-to tensor")
row("resize", """
    y = torch.zeros(2)
    y.resize_(3, 2)
    return y.size(), y.stride(), x.resize_(2, 2)""", x=f32(7))
row("out_of_add", """
    y = torch.zeros(3)
    z = y.view(3)
    torch.add(x, x, out=y)
    return y, z""", x=f32(3))
row("out_of_cat_strided", """
    y = torch.zeros(4, 2).t()
    torch.cat([x, x], out=y)
    return y, y.stride()""", x=f32(1, 4))
row("out_resizes", """
    y = torch.zeros(0)
    torch.mul(x, 2, out=y)
    return y""", x=f32(2, 3))
row("out_cannot_cast", """
    y = torch.zeros(3, dtype=torch.int64)
    torch.add(x, x, out=y)
    return y""", x=f32(3), raises="can't be cast")

# ---- In-place changes of shape -------------------------------------------------------------------

row("shape_in_place", """
    a = x.clone()
    b = a
    a.t_()
    c = x.clone().unsqueeze_(1)
    d = c.clone().squeeze_()
    e = x.clone().transpose_(0, 1)
    return a, b, c, d, e, b.stride()""", x=f32(2, 3))

# ---- Sizes ---------------------------------------------------------------------------------------

each("sizes", "(x.size(), x.size(1), x.size(-1), x.shape, x.stride(), x.stride(0), x.dim(), x.numel(), len(x), x.storage_offset(), x.ndim, x.element_size(), x.is_contiguous())")
row("dtype_questions", "(x.is_floating_point(), i.is_floating_point(), x.is_complex(), x.dtype, i.dtype, x.dtype == torch.float32, x.is_cuda, x.layout, b.dtype, x.is_signed(), x.nbytes)",
    x=f32(2), i=i64(2), b=b8(1))
row("device_questions", "(x.device.type, str(x.device), x.device == torch.device('cpu'), x.is_cpu, x.requires_grad)", x=f32(2))
row("result_types", "(torch.result_type(x, i), torch.result_type(i, 1.5), torch.result_type(z, i), torch.promote_types(torch.uint8, torch.int32), torch.can_cast(torch.float32, torch.int64))",
    x=f32(2), i=i64(2), z=f64())

# ---- Refusals ------------------------------------------------------------------------------------

row("view_refuses_copy", "x.view(6)", x=transposed(f32(2, 3)), raises="Use .reshape(...) instead")
row("view_two_unknown", "x.view(-1, -1)", x=f32(6), raises="only one dimension can be inferred")
row("view_ambiguous", "x.view(-1, 0)", x=f32(0), raises="ambiguous")
row("view_negative", "x.view(-2, 3)", x=f32(6), raises="invalid shape dimension -2")
row("reshape_wrong", "x.reshape(4, 2)", x=f32(6), raises="shape '[4, 2]' is invalid for input of size 6")
row("dim_beyond", "x.transpose(0, 2)", x=f32(2, 3), raises="Dimension out of range (expected to be in range of [-2, 1], but got 2)")
row("size_beyond", "x.size(2)", x=f32(2, 3), raises="Dimension out of range (expected to be in range of [-2, 1], but got 2)")
row("permute_repeats", "x.permute(0, 0)", x=f32(2, 3), raises="duplicate dims are not allowed")
row("permute_too_few", "x.permute([0])", x=f32(2, 3), raises="is not equal to len(dims) = 1")
row("t_of_3d", "x.t()", x=f32(2, 3, 4), raises="t() expects a tensor with <= 2 dimensions, but self is 3D")
row("select_beyond", "x[3]", x=f32(3), raises="index 3")
row("select_0d", "x[0]", x=f32(), raises="0-dim tensor")
row("slice_0d", "x[0:1]", x=f32(), raises="0-dim tensor")
row("slice_step_zero", "x[::n]", x=f32(3), n=0, raises="slice step must be positive")
row("narrow_beyond", "x.narrow(0, 2, 5)", x=f32(3), raises="start (2) + length (5) exceeds dimension size (3)")
row("narrow_negative", "x.narrow(0, 0, -1)", x=f32(3), raises="length must be non-negative")
row("expand_mismatch", "x.expand(4, 4)", x=f32(3), raises="must match the existing size (3) at non-singleton dimension 1")
row("expand_too_few", "x.expand(3)", x=f32(2, 3), raises="must be greater or equal to the number of dimensions in the tensor (2)")
row("expand_new_minus_one", "x.expand(-1, 3)", x=f32(3), raises="isn't allowed in a leading, non-existing dimension 0")
row("diagonal_same_dims", "x.diagonal(0, 1, 1)", x=f32(3, 3), raises="diagonal dimensions cannot be identical 1, 1")
row("unfold_too_large", "x.unfold(0, 5, 1)", x=f32(3), raises="maximum size for tensor at dimension 0 is 3 but size is 5")
row("unfold_no_step", "x.unfold(0, 1, n)", x=f32(3), n=0, raises="step is 0 but must be > 0")
row("as_strided_outside", "x.as_strided([3], [2])", x=f32(4), raises="")
row("as_strided_negative", "x.as_strided([2], [n])", x=f32(4), n=-1, raises="")
row("split_zero", "x.split(n)", x=f32(4), n=0, raises="split_size can only be 0 if dimension size is 0")
row("split_sum_wrong", "x.split([1, 2])", x=f32(4), raises="to sum exactly to 4")
row("chunk_zero", "x.chunk(n)", x=f32(4), n=0, raises="chunk expects `chunks` to be greater than 0, got: 0")
row("unflatten_wrong", "x.unflatten(0, (2, 3))", x=f32(5), raises="don't multiply up to the size of dim 0 (5)")
row("squeeze_repeats", "torch.squeeze(x, [0, 0])", x=f32(1, 2), raises="dim 0 appears multiple times in the list of dims")
row("repeat_too_few", "x.repeat(2)", x=f32(2, 3), raises="can not be smaller than number of dimensions of tensor")
row("repeat_negative", "x.repeat(n, 1)", x=f32(2, 3), n=-1, raises="negative dimension")
row("len_of_0d", "len(x)", x=f32(), raises="len() of a 0-d tensor")
row("item_of_two", "x.item()", x=f32(2), raises="a Tensor with 2 elements cannot be converted to Scalar")
row("bool_of_two", "1 if x else 2", x=f32(2), raises="Boolean value of Tensor with more than one value is ambiguous")
row("bool_of_none", "1 if x else 2", x=f32(0), raises="Boolean value of Tensor with no values is ambiguous")
row("int_of_nan", "int(x)", x=tensor(NAN), raises="without overflow")

# ---- From pytorch issues: views that other exporters lose -----------------------------------------

row("issue_95050_masked_fill_through_view", """
    x.view(3, 2).masked_fill_(mask.unsqueeze(0), -1.5)
    return x""", x=f32(6), mask=tensor([True, False], "b8"))
row("issue_19948_assign_to_slice_of_repeat", """
    a = x.repeat([3, 2])
    a[:2] = torch.cat([x, x], 1)[:1] * 2
    return a""", x=f32(1, 2))
row("issue_110056_empty_slice_assign", """
    x[1:-1] = 0
    return x""", x=f32(2), also=[{"x": f32(5)}])
