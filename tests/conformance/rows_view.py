"""Views. The rows compare strides wherever a program could read them. A write through a view shows that it is one."""
from conformance import *

def views(name, expression, cases=CUBE, **options):
    """Returns the view's sizes, strides, offset and elements, and shows that a write to it changes x."""
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

# ---- reshape: a view if possible, a copy otherwise ------------------------------------------------

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

# ---- Splitting -----------------------------------------------------------------------------------

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

# ---- In-place changes of shape -------------------------------------------------------------------

row("shape_in_place", """
    a = x.clone()
    b = a
    a.t_()
    c = x.clone().unsqueeze_(1)
    d = c.clone().squeeze_()
    e = x.clone().transpose_(0, 1)
    return a, b, c, d, e, b.stride()""", x=f32(2, 3))

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

# ---- By their own names (one_operator.py) ------------------------------------------------------------

for name in ("swapaxes", "swapdims"):
    row(f"name_{name}", f"aten::{name}(x, a, b)", x=f32(2, 3, 4), a=0, b=-1, also=[{"x": noncontig(f32(3, 5))}])
    row(f"name_{name}_in_place", f"aten::{name}_(x, a, b)", x=f32(2, 3, 4), a=0, b=-1, mutates=True)
for name in ("moveaxis",):
    row(f"name_{name}", f"aten::{name}.int(x, a, b)", x=f32(2, 3, 4), a=0, b=-1)
    row(f"name_{name}_of_several", f"aten::{name}.intlist(x, a, b)", x=f32(2, 3, 4), a=[0, 1], b=[2, 0])
row("name_adjoint", "aten::adjoint(x)", x=f32(2, 3), also=[{"x": random("c64", 2, 3, 4)}])
row("name_mT_of_no_dims", "aten::mT(x)", x=f32())
row("name_squeeze_along", "aten::squeeze_.dim(x, 1)", x=f32(2, 1, 3, 1), mutates=True)
row("name_squeeze_along_several", "aten::squeeze_.dims(x, d)", x=f32(2, 1, 3, 1), d=[1, -1], mutates=True)
for name in ("resolve_neg", "lift"):
    row(f"name_{name}", f"aten::{name}(x)", x=f32(2, 3))
row("name_reshape_alias", "aten::_reshape_alias(x, a, b)", x=f32(2, 6), a=[3, 4], b=[4, 1])
row("name_as_strided", "aten::as_strided_(x, a, b)", x=f32(12), a=[3, 2], b=[4, 1], mutates=True)
row("name_conj", "aten::_conj(x)", x=random("c64", 3))
row("name_narrow_from_tensor", "aten::narrow.Tensor(x, 0, n, 2)", x=f32(5, 3), n=tensor(1, "i64"), also=[{"n": tensor(-2, "i64")}])
row("name_unsafe_split", "aten::unsafe_split.Tensor(x, 2)", x=f32(5, 3))
row("name_unsafe_split_with_sizes", "aten::unsafe_split_with_sizes(x, n)", x=f32(5, 3), n=[1, 4])
for name, n in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)):
    row(f"name_{name}_at", f"aten::{name}.array(x, n)", x=f32(4, 4, 4), n=[1, 3])
    row(f"name_{name}", f"aten::{name}.int(x, 2)", x=f32(4, 4, 4))
# An alias shares sizes with the tensor only if they change in place. lift_fresh returns the tensor itself.
for name in ("alias", "lift_fresh"):
    row(f"own_name_{name}", f"y = torch.ops.aten.{name}(x)\nx.unsqueeze_(0)\nreturn x, y", x=f32(2, 3), mutates=True)
