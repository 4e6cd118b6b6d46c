"""Operators that join, repeat, rotate and copy. The rows compare strides wherever a program could read them."""
from conformance import *

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

# ---- Repeating, rotating, rolling ----------------------------------------------------------------

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
row("flip_lines", "(x.flip(-1), x.flip([0, -1]), x[:, ::2].flip(1), x.t().flip(0), x[:, :3].flip(1), x[:, 1:8].flip(1), x[:, :4].flip(-1), x[:0].flip(1))",
    x=f32(3, 131), also=[{"x": i64(3, 131)}, {"x": random("i32", 3, 131)}, {"x": random("bf16", 3, 131)}])
row("flip_0d_and_lr", "(x.flip([]) if False else x, y.fliplr(), y.flipud(), y.flip(0))", x=f32(), y=i64(3, 4))
row("flip_channels_last", "(x.flip([1, 3]), x.flip([2]).stride())", x=channels_last(f32(1, 3, 2, 5)))
each("rot90", "(x.rot90(), x.rot90(2, [0, 2]), x.rot90(-1, [1, 2]), x.rot90(4, [0, 1]), x.rot90(1, [2, 0]).stride())")
each("roll", "(x.roll(1), x.roll(-2, 1), x.roll([1, 2], [0, 2]), x.roll(7, -1), x.roll(1, 0).stride())")
row("roll_0d", "x.roll(1)", x=f32())
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
row("resize_to_the_same_sizes", "y = x.resize_(3, 7)\nreturn y.stride(), y", x=transposed(f32(3, 7)))
row("out_resizes", """
    y = torch.zeros(0)
    torch.mul(x, 2, out=y)
    return y""", x=f32(2, 3))
row("out_cannot_cast", """
    y = torch.zeros(3, dtype=torch.int64)
    torch.add(x, x, out=y)
    return y""", x=f32(3), raises="can't be cast")

# ---- Refusals ------------------------------------------------------------------------------------

row("repeat_too_few", "x.repeat(2)", x=f32(2, 3), raises="can not be smaller than number of dimensions of tensor")
row("repeat_negative", "x.repeat(n, 1)", x=f32(2, 3), n=-1, raises="negative dimension")

# ---- By their own names (one_operator.py) ------------------------------------------------------------

row("name_copy_tensor", "aten::copy_.Tensor(x, y)", x=f32(2, 3), y=i64(3), mutates=True)
row("name_copy_int", "aten::copy_.int(x, 3)", x=f32(2, 3), mutates=True, also=[{"x": i32(4)}])
row("name_copy_float", "aten::copy_.float(x, 2.5)", x=f32(2, 3), mutates=True, also=[{"x": i32(4)}])
row("name_copy", "aten::copy(x, y)", x=f32(2, 3), y=i64(3), also=[{"y": f32(2, 3)}])
row("name_set_source", "aten::set_.source_Tensor(x, y)", x=f32(2, 3), y=f32(4), mutates=True)
for name in ("concat", "concatenate"):
    row(f"name_{name}", f"aten::{name}(xs, d)", xs=[f32(2, 3), f32(1, 3)], d=0, also=[{"xs": [f32(2, 3), i64(2, 2)], "d": -1}])
row("name_row_stack", "aten::row_stack(xs)", xs=[f32(3), f32(2, 3)])
row("name_to_device", "aten::to.device(x, torch.device('cpu'), torch.float64)", x=f32(2, 3))
row("name_to_copy", "aten::_to_copy(x, dtype=d)", x=f32(2, 3), d=7, also=[{"d": None}, {"d": 4}])
row("name_to_prim_device", "aten::to.prim_Device(x, torch.device('cpu'), d)", x=f32(2, 3), d=7, also=[{"d": 4}])
row("name_to_prim_dtype", "aten::to.prim_dtype(x, d, copy=True)", x=f32(2, 3), d=7, also=[{"d": 4}])
row("name_to_prim_other", "aten::to.prim_other(x, False, True)", x=u8(2, 3))  # PyTorch reads False as the dtype uint8
for name in ("Float", "Double", "Int", "Long", "Byte"):
    row(f"name_cast_{name}", f"aten::_cast_{name}(x)", x=f32(2, 3, lo=0, hi=99), also=[{"x": i64(3, lo=0, hi=99)}, {"x": b8(4)}])
row("resize_to_channels_last", """
    y = torch.zeros(3).resize_(1, 2, 3, 4, memory_format=torch.channels_last)
    z = x.clone().resize_([1, 2, 3, 4], memory_format=torch.channels_last)
    w = z.clone().resize_([1, 2, 3, 4], memory_format=torch.contiguous_format)
    v = torch.zeros(3).resize_(1, 2, 3, 4, 5, memory_format=torch.channels_last_3d)
    return y.stride(), z, z.stride(), w.stride(), v.stride(), z.clone().resize_([1, 2, 3, 4]).stride()""", x=f32(1, 2, 3, 4))
row("resize_as_channels_last", """
    last = x.to(memory_format=torch.channels_last)
    return (torch.zeros(3).resize_as_(x, memory_format=torch.channels_last).stride(), torch.zeros(3).resize_as_(last, memory_format=torch.preserve_format).stride(),
            last.clone().resize_as_(x, memory_format=torch.contiguous_format).stride(), last.clone().resize_as_(x).stride(), last.clone().resize_as_(x, memory_format=torch.preserve_format).stride())""", x=f32(1, 2, 3, 4))
row("resize_of_an_expansion", "torch.ones(1).expand(3, 4).resize_([3, 4], memory_format=torch.contiguous_format).shape", x=f32(1))
row("resize_channels_last_of_a_matrix_refused", "x.clone().resize_([2, 3], memory_format=torch.channels_last)", x=f32(6), raises="required rank 4 tensor")
row("resize_preserving_refused", "x.clone().resize_([2, 3], memory_format=torch.preserve_format)", x=f32(6), raises="Unsupported memory format")
