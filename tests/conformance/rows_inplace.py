"""Writes: in place, through views, and through aliases."""
from conformance import *


def inplace(name, body, **inputs):
    """Adds a row whose body writes to its inputs. The inputs are compared after the call."""
    row(f"inplace_{name}", body, mutates=True, **inputs)


# ---- assignment to an index ------------------------------------------------------------------------

for name, target, value in (
        ("slice", "x[1:3]", "y[1:3]"), ("row", "x[0]", "y[1]"), ("last_row", "x[-1]", "y[0]"),
        ("column", "x[:, 1]", "y[:, 0]"), ("step", "x[::2]", "y[::2]"), ("block", "x[1:, :2]", "y[:-1, 1:]"),
        ("scalar_to_row", "x[1]", "2.5"), ("scalar_to_all", "x[:]", "7"), ("scalar_to_element", "x[1, 2]", "-1"),
        ("broadcast_row", "x[:, :]", "y[0]"), ("ellipsis", "x[..., 0]", "y[..., 1]"), ("empty_slice", "x[2:2]", "0"),
        ("int_into_float", "x[0]", "y[0].to(torch.int64)"), ("column_of_ones", "x[:, 1:2]", "1.0"),
        ("transposed_value", "x[:3, :3]", "y[:3, :3].t()"), ("out_of_range_end", "x[1:99]", "y[1:99]")):
    inplace(f"assign_{name}", f"{target} = {value}\nreturn x", x=f32(4, 3), y=f32(4, 3))

inplace("assign_empty_slice_110056", "x[1:-1] = 0\nreturn x", x=f32(2), also=[{"x": f32(5)}, {"x": f32(0)}])
row("inplace_assign_repeat_19948", """
    a = x.repeat([3, 2])
    a[:2] = torch.cat([x, x], 1)[:2] * 2
    return a""", x=f32(2, 3))
row("inplace_assign_repeat_1d_19948", """
    a = x.repeat([3, 2])
    a[:2] = x.repeat(2) * 2
    return a""", x=f32(3))
row("inplace_assign_in_a_loop", """
    y = torch.zeros(n, 3)
    for i in range(n):
        y[i] = x * i
    return y""", x=f32(3), n=4, also=[{"n": 0}, {"n": 1}])
row("inplace_assign_select_of_clone", """
    y = x.clone()
    y[:, 0] += 1
    y[1:, 1] *= 3
    y[0, :] -= y[1, :]
    return y, x""", x=f32(3, 2))

for name, mask in (("some", tensor([True, False, True, False, True], "b8")), ("none", tensor([False] * 5, "b8")),
                   ("all", tensor([True] * 5, "b8"))):
    inplace(f"mask_scalar_{name}", "x[m] = 0.5\nreturn x", x=f32(5), m=mask)
    inplace(f"mask_add_{name}", "x[m] += 1\nreturn x", x=f32(5), m=mask)
inplace("mask_values", "x[m] = v\nreturn x", x=f32(5), m=tensor([True, False, True, False, True], "b8"), v=f32(3))
inplace("mask_rows", "x[m] = v\nreturn x", x=f32(3, 2), m=tensor([True, False, True], "b8"), v=f32(2, 2))
inplace("mask_rows_broadcast", "x[m] = v\nreturn x", x=f32(3, 2), m=tensor([True, False, True], "b8"), v=f32(2))
inplace("mask_two_dimensions", "x[x > 0] = -1.0\nreturn x", x=f32(3, 4))
inplace("mask_of_strided", "x[x > 0] = 0\nreturn x", x=noncontig(f32(3, 4)))

# ---- index_put_ and others -------------------------------------------------------------------------

IDX = tensor([0, 2, 0, 2, 2], "i64")
inplace("index_put_last_wins_or_any", "x[i] = v\nreturn x", x=f32(4), i=perm(4), v=f32(4))
inplace("index_put_rows", "x[i] = v\nreturn x", x=f32(4, 3), i=tensor([3, 1], "i64"), v=f32(2, 3))
inplace("index_put_negative", "x[i] = v\nreturn x", x=f32(4), i=tensor([-1, -4], "i64"), v=f32(2))
inplace("index_put_two_indices", "x[i, j] = v\nreturn x", x=f32(3, 4), i=tensor([0, 1, 2], "i64"), j=tensor([3, 0, 1], "i64"), v=f32(3))
inplace("index_put_second_dim", "x[:, i] = v\nreturn x", x=f32(2, 4), i=tensor([3, 0], "i64"), v=f32(2, 2))
inplace("index_put_accumulate_61034", "x.index_put_([i], v, accumulate=True)", x=f32(4), i=IDX, v=f32(5))
row("inplace_index_put_functional_61034", "torch.index_put(x, [i], v, accumulate=True)", x=f32(4, 2), i=IDX, v=f32(5, 2))
inplace("index_put_accumulate_two", "x.index_put_([i, j], v, accumulate=True)", x=f32(3, 3), i=IDX, j=tensor([1, 1, 1, 1, 0], "i64"), v=f32(5))
inplace("index_put_accumulate_ints", "x.index_put_([i], v, accumulate=True)", x=i64(4), i=IDX, v=i64(5))
inplace("index_put_accumulate_scalar", "x.index_put_([i], v, accumulate=True)", x=f32(4), i=IDX, v=tensor(1.0))
row("inplace_index_put_out_of_range", "x[i] = 1.0\nreturn x", x=f32(4), i=tensor([4], "i64"), raises="")
inplace("index_add_111159", "x.index_add_(0, i, v)", x=f32(4, 2), i=IDX, v=f32(5, 2))
inplace("index_add_alpha", "x.index_add_(1, i, v, alpha=0.5)", x=f32(2, 4), i=IDX, v=f32(2, 5))
inplace("index_add_ints", "x.index_add_(0, i, v)", x=i64(4), i=IDX, v=i64(5))
inplace("index_copy", "x.index_copy_(0, i, v)", x=f32(4, 2), i=tensor([3, 0], "i64"), v=f32(2, 2))
inplace("index_fill", "x.index_fill_(0, i, 2.5)", x=f32(4, 2), i=tensor([3, 0], "i64"))
inplace("scatter", "x.scatter_(0, i, v)", x=f32(3, 4), i=tensor([[0, 1, 2, 0]], "i64"), v=f32(1, 4))
inplace("scatter_add_repeats", "x.scatter_add_(0, i, v)", x=f32(3), i=tensor([0, 0, 2, 0], "i64"), v=f32(4))
inplace("scatter_value", "x.scatter_(1, i, 9.0)", x=f32(2, 3), i=tensor([[2], [0]], "i64"))
inplace("masked_scatter", "x.masked_scatter_(m, v)", x=f32(5), m=tensor([True, False, True, True, False], "b8"), v=f32(5))
inplace("masked_fill", "x.masked_fill_(m, 3.0)", x=f32(2, 3), m=tensor([True, False, True], "b8"))
inplace("masked_fill_tensor_value", "x.masked_fill_(m, v)", x=f32(5), m=b8(5), v=tensor(-1.0))

# ---- through views ---------------------------------------------------------------------------------

inplace("view_masked_fill_95050", """
    x.view(3, 2).masked_fill_(m.unsqueeze(0), 3.4028234663852886e38)
    return x""", x=f32(6), m=tensor([True, False], "b8"), also=[{"x": f32(2, 3)}])

VIEWS = {"view": "x.view(3, 4)", "reshape": "x.reshape(2, 6)", "transpose": "x.t()", "permute": "x.permute(1, 0)",
         "slice": "x[1:3]", "slice_step": "x[:, ::2]", "select": "x[2]", "select_column": "x[:, 1]", "narrow": "x.narrow(0, 1, 2)",
         "unsqueeze": "x.unsqueeze(1)", "squeeze": "x.unsqueeze(0).squeeze(0)", "flatten": "x.flatten()", "diagonal": "x.diagonal()",
         "chunk": "x.chunk(2)[1]", "split": "x.split([1, 3])[1]", "unbind": "x.unbind(1)[2]", "as_strided": "x.as_strided([2, 2], [3, 1], 1)",
         "unflatten": "x.unflatten(0, [2, 2])", "movedim": "x.movedim(0, 1)", "detach": "x.detach()", "view_as": "x.view_as(y.t())",
         "two_steps": "x.t()[1:].t()[::2]", "swapaxes": "x.swapaxes(0, 1)", "ravel": "x.ravel()", "expand_as_itself": "x.expand(4, 3)"}
for name, view in VIEWS.items():
    inplace(f"through_{name}", f"v = {view}\nv.mul_(10)\nreturn x, v", x=f32(4, 3), y=f32(4, 3))
for name in ("transpose", "slice_step", "select_column", "diagonal", "two_steps"):
    inplace(f"through_{name}_of_strided", f"v = {VIEWS[name]}\nv += 1\nv.clamp_(-1, 1)\nreturn x, v", x=noncontig(f32(4, 3)))
inplace("through_view_of_view_of_copy", """
    y = x.reshape(-1)        # a copy: x is not contiguous
    y[0] = 100.0
    return y, x""", x=transposed(f32(3, 4)))
inplace("view_sees_later_writes", """
    v = x[1:]
    x.add_(1)
    w = v * 1
    x.zero_()
    return v, w""", x=f32(4))
inplace("view_outlives_its_base", """
    y = x * 2
    v = y[1:3]
    y = y + 1
    v.add_(5)
    return v, y""", x=f32(4))
inplace("clone_does_not_alias", "y = x.clone()\ny.add_(1)\nreturn x, y", x=f32(4))
inplace("contiguous_of_contiguous_aliases", "y = x.contiguous()\ny.add_(1)\nreturn x, y", x=f32(2, 3))
inplace("contiguous_of_strided_copies", "y = x.contiguous()\ny.add_(1)\nreturn x, y", x=transposed(f32(2, 3)))
inplace("to_same_dtype_aliases", "y = x.to(torch.float32)\ny.add_(1)\nreturn x, y", x=f32(3))
inplace("to_other_dtype_copies", "y = x.to(torch.float64)\ny.add_(1)\nreturn x, y", x=f32(3))
inplace("float_of_float_aliases", "y = x.float()\ny.add_(1)\nreturn x, y", x=f32(3))
inplace("type_as_aliases", "y = x.type_as(z)\ny.add_(1)\nreturn x, y", x=f32(3), z=f32(1))

# ---- operators -------------------------------------------------------------------------------------

for name, call in {"add": "x.add_(y)", "add_alpha": "x.add_(y, alpha=3)", "add_scalar": "x.add_(2)", "sub": "x.sub_(y)", "mul": "x.mul_(y)",
                   "div": "x.div_(y)", "neg": "x.neg_()", "relu": "x.relu_()", "abs": "x.abs_()", "exp": "x.exp_()", "sigmoid": "x.sigmoid_()",
                   "tanh": "x.tanh_()", "sqrt_of_square": "x.mul_(x).sqrt_()", "clamp": "x.clamp_(-0.5, 0.5)", "clamp_min": "x.clamp_min_(0.1)",
                   "zero": "x.zero_()", "fill": "x.fill_(3)", "copy": "x.copy_(y)", "copy_broadcast": "x.copy_(y[0])", "lerp": "x.lerp_(y, 0.25)",
                   "addcmul": "x.addcmul_(y, y, value=0.5)", "addcdiv": "x.addcdiv_(y, y + 5, value=2)", "pow": "x.pow_(2)", "round": "x.round_()",
                   "floor": "x.floor_()", "reciprocal": "x.reciprocal_()", "leaky_relu": "F.leaky_relu_(x, 0.1)", "hardtanh": "F.hardtanh_(x)",
                   "operator_iadd": "x += y", "operator_imul": "x *= 2", "operator_isub": "x -= y", "operator_idiv": "x /= 4",
                   "eq": "x.eq_(y)", "gt": "x.gt_(0)", "maximum_out": "torch.maximum(x, y, out=x)", "tril": "x.tril_()",
                   "cumsum": "x.cumsum_(0)"}.items():
    returns = "" if " = " not in call and "= " not in call else "\nreturn x"
    inplace(name, call + returns if returns else call, x=f32(3, 4), y=f32(3, 4))
for name, call in {"add": "x.add_(y)", "mul_scalar": "x.mul_(0.5)", "copy": "x.copy_(y)", "relu": "x.relu_()", "div": "x.div_(y)"}.items():
    inplace(f"{name}_strided", call, x=noncontig(f32(3, 5)), y=transposed(f32(3, 5)))
    inplace(f"{name}_turned", call, x=transposed(f32(3, 5)), y=f32(5))
    inplace(f"{name}_nhwc", call, x=channels_last(f32(2, 3, 4, 5)), y=f32(2, 3, 4, 5))
    inplace(f"{name}_empty", call, x=f32(0, 3), y=f32(3))
inplace("add_itself", "x.add_(x)", x=f32(17))
inplace("mul_its_transpose", "x.mul_(x.t().clone())", x=f32(4, 4))
inplace("add_its_own_row", "x.add_(x[0].clone())", x=f32(3, 4))
inplace("copy_from_int", "x.copy_(i)", x=f32(4), i=i64(4))
inplace("copy_float_into_int", "i.copy_(x)", i=i64(5), x=tensor([0.9, -0.9, 2.5, -7.1, 100.0]))
inplace("add_int_into_float", "x.add_(i)", x=f32(4), i=i64(4))
inplace("add_float64_into_float32", "x.add_(y)", x=f32(4), y=f64(4))
inplace("bool_and", "a &= b\nreturn a", a=b8(7), b=b8(7))
inplace("bool_logical_not", "a.logical_not_()", a=b8(7))
row("inplace_float_into_int_refused", "i.add_(x)", i=i64(4), x=f32(4), raises="can't be cast")
row("inplace_broadcast_refused", "x.add_(y)", x=f32(3), y=f32(2, 3), raises="")
row("inplace_int_div_refused", "i.div_(2)", i=i64(4), raises="can't be cast")
row("inplace_out_add", """
    out = torch.empty(3)
    torch.add(x, y, out=out)
    return out""", x=f32(3), y=f32(3))
row("inplace_out_into_a_view", """
    out = torch.zeros(2, 3)
    torch.mul(x, y, out=out[1])
    return out""", x=f32(3), y=f32(3))
row("inplace_out_cat_stack", """
    out = torch.zeros(6)
    torch.cat([x, y], out=out)
    return out""", x=f32(3), y=f32(3))
row("inplace_out_matmul", """
    out = torch.zeros(2, 4)
    torch.matmul(x, y, out=out)
    return out, out.sum()""", x=f32(2, 3), y=f32(3, 4))
inplace("unsqueeze_itself", "x.unsqueeze_(0)\nreturn x.size(0)", x=f32(3))
inplace("transpose_itself", "x.t_()\nx[0] = 1.0\nreturn x", x=f32(2, 3))
inplace("squeeze_itself", "x.squeeze_()\nreturn x.dim()", x=f32(1, 3, 1))

# ---- aliases through containers and control flow -----------------------------------------------------

inplace("through_a_list", """
    xs = [x, y]
    xs[0].add_(1)
    for t in xs:
        t.mul_(2)
    return xs""", x=f32(2), y=f32(2))
inplace("through_a_list_twice", """
    xs = [x, x]
    for t in xs:
        t.add_(1)
    return x""", x=f32(2))
inplace("through_a_tuple", """
    t = (x, x[1:])
    t[1].zero_()
    return t""", x=f32(3))
inplace("through_a_dict", """
    d = {'a': x, 'b': x.view(-1)}
    d['b'][0] = 9.0
    return d['a']""", x=f32(2, 2))
inplace("list_argument", """
    for t in xs:
        t.add_(1)
    return len(xs)""", xs=[f32(2), f32(3)])
inplace("list_argument_append", "xs.append(xs[0] * 2)\nreturn len(xs)", xs=[f32(2)])
inplace("dict_argument", "d['x'].mul_(2)\nd['y'] = d['x'] + 1\nreturn len(d)", d={"x": f32(2)})
inplace("in_one_branch", """
    y = x
    if flag:
        y.add_(1)
    else:
        y = x * 2
        y.add_(1)
    return y""", x=f32(3), flag=True, also=[{"flag": False}])
inplace("carried_by_a_loop", """
    y = x
    for i in range(4):
        y.add_(i)
        if i == 1:
            y = y.clone()
    return y""", x=f32(3))
inplace("rows_in_a_loop", """
    for i in range(x.size(0)):
        r = x[i]
        r.sub_(r.max())
        r.exp_()
        r.div_(r.sum())
    return x""", x=f32(4, 5))
inplace("bubble_sort_step", """
    for i in range(x.size(0) - 1):
        if bool(x[i] > x[i + 1]):
            t = x[i].clone()
            x[i] = x[i + 1]
            x[i + 1] = t
    return x""", x=f32(6))
inplace("swap_rows", """
    t = x[0].clone()
    x[0] = x[1]
    x[1] = t
    return x""", x=f32(2, 3))
inplace("swap_without_clone", """
    t = x[0]
    x[0] = x[1]
    x[1] = t
    return x""", x=f32(2, 3))
inplace("read_after_write", """
    y = x + 1
    x.zero_()
    z = x + y
    y.zero_()
    return z, y""", x=f32(3))
inplace("value_kept_before_write", """
    a = x[0] * 1
    b = x[0]
    x[0] = 50.0
    return a, b""", x=f32(3))
inplace("sum_then_write", """
    s = x.sum()
    x.fill_(0)
    return s, x.sum()""", x=f32(9))

# ---- inputs that alias each other--------------------------------------------------------------------

inplace("input_returned", "x.add_(1)\nreturn x", x=f32(3))
inplace("inputs_are_one", "x.add_(1)\nreturn y * 2", x=f32(3), y=of("x"))
inplace("input_is_a_view_of_another", "x.zero_()\nreturn y + 1", x=f32(4), y=of("x[1:3]"))
inplace("input_views_overlap", "x.add_(1)\ny.mul_(2)\nreturn x, y", x=f32(6), y=of("x[2:4]"))
inplace("input_is_a_transpose", "x[0, 1] = 5.0\nreturn y[1, 0]", x=f32(3, 3), y=of("x.t()"))
inplace("input_read_and_write_apart", "y.copy_(x)\nreturn x", x=f32(3), y=of("torch.zeros(6)[3:]"))
inplace("input_expanded_read_only", "y.add_(x)", x=expanded(f32(1, 3), 4, 3), y=f32(4, 3))
row("inplace_expanded_write_refused", "x.add_(1)", x=expanded(f32(1, 3), 4, 3), raises="")
row("inplace_cumsum_of_expanded_refused", "(x + 0).expand(3, 4).cumsum_(1)", x=f32(4), raises="more than one element of the written-to tensor")
row("inplace_addmm_of_expanded_refused", "(x + 0).expand(3, 4).addmm_(y, y.t() @ y)", x=f32(4), y=f32(3, 4), raises="more than one element of the written-to tensor")
for name, line in (  # PyTorch writes here, with a warning
        ("mask", "v[v > 0.5] = 0.25"), ("index", "v[torch.tensor([0, 2])] = 0.25"), ("index_fill", "v.index_fill_(1, torch.tensor([3, 0]), 0.25)"),
        ("accumulated", "v.index_put_([torch.tensor([1])], x, accumulate=True)"), ("itself", "v.copy_(v)")):
    row(f"inplace_expanded_{name}", f"v = (x + 0).expand(3, 4)\n{line}\nreturn v, v.stride()", x=f32(4, lo=0.0, hi=1.0))
row("inplace_overlap_write_refused", "x.add_(y)", x=f32(5), y=of("x[:1]"), raises="")

# ---- weights -----------------------------------------------------------------------------------------

row("inplace_on_a_copy_of_a_weight", """
    y = w.clone()
    y.add_(x)
    return y, w""", x=f32(3), w=weight(f32(3)))
row("inplace_view_of_a_result_of_a_weight", """
    y = w * 1
    y[0] = x[0]
    return y, w""", x=f32(3), w=weight(f32(3)))
