"""Overloads that TorchScript would not select, called by their own names (one_operator.py); dicts with keys of every kind."""
from conformance import *

# ---- Numbers ---------------------------------------------------------------------------------------

#: {operator: a number in its domain for ints, and one for floats}
FUNCTIONS = {"sqrt": (9, 2.5), "exp": (2, -0.5), "expm1": (2, 1e-9), "log1p": (3, 1e-9), "log10": (1000, 0.5), "log": (3, 0.5), "sin": (2, -0.5), "cos": (2, -0.5),
             "tan": (2, -0.5), "asin": (1, -0.5), "acos": (1, -0.5), "atan": (2, -0.5), "sinh": (2, -0.5), "cosh": (2, -0.5), "tanh": (2, -0.5), "asinh": (2, -0.5),
             "acosh": (2, 1.5), "atanh": (0, -0.5), "erf": (1, -0.5), "erfc": (1, -0.5), "gamma": (5, 0.5), "lgamma": (5, 0.5), "degrees": (2, -0.5),
             "radians": (90, -0.5), "floor": (2, -0.5), "ceil": (2, -0.5), "round": (2, -1.5)}
for name, (whole, real) in FUNCTIONS.items():
    row(f"name_{name}_of_int", f"aten::{name}.int(a)", a=whole, also=[{"a": 1}])
    row(f"name_{name}_of_float", f"aten::{name}.float(a)", a=real)
    row(f"name_{name}_of_number", f"aten::{name}.Scalar(a)", a=whole, also=[{"a": real}])
row("name_neg_of_number", "aten::neg.Scalar(a)", a=2, also=[{"a": -0.5}])
row("name_abs_of_number", "prim::abs.Scalar(a)", a=-2, also=[{"a": -0.5}])
row("name_fabs_of_number", "aten::fabs.Scalar(a)", a=-2, also=[{"a": -0.5}])

NUMBERS = dict(a=7, b=2, also=[{"b": 2.5}, {"a": -7.5}, {"a": -7.5, "b": 2.5}])
for name in ("add", "sub", "mul", "floordiv", "remainder", "fmod", "mathremainder", "copysign", "eq", "ne", "lt", "gt", "le", "ge"):
    row(f"name_{name}_of_numbers", f"aten::{name}(a, b)", **NUMBERS)
for name in ("min", "max"):
    row(f"name_{name}_of_numbers", f"prim::{name}(a, b)", **NUMBERS)
row("name_pow_of_numbers", "aten::pow.Scalar_Scalar(a, b)", a=7, b=2, also=[{"b": 2.5}, {"a": 7.5}, {"a": 7.5, "b": -2.5}])
row("name_atan2_of_numbers", "aten::atan2.Scalar_Scalar(a, b)", **NUMBERS)
row("name_log_of_numbers", "aten::log.Scalar_Scalar(a, b)", a=7, b=2, also=[{"b": 2.5}, {"a": 7.5}, {"a": 7.5, "b": 2.5}])
for name in ("divmod", "fmod", "mathremainder", "copysign", "atan2", "ne", "gt", "le"):
    row(f"name_{name}_of_int_and_float", f"aten::{name}.int_float(a, b)", a=7, b=2.5, also=[{"a": -7}, {"b": -2.5}, {"a": 2, "b": 2.0}])
    row(f"name_{name}_of_float_and_int", f"aten::{name}.float_int(a, b)", a=7.5, b=2, also=[{"a": -7.5}, {"b": -2}, {"a": 2.0, "b": 2}])
row("name_truncated_division", "aten::__round_to_zero_floordiv.int(a, b)", a=7, b=2, also=[{"a": -7}, {"b": -2}, {"a": -7, "b": -2}])
for name in ("item", "_local_scalar_dense", "is_nonzero", "IntImplicit", "FloatImplicit", "ScalarImplicit"):
    kind = "f32" if "Float" in name else "i64"
    row(f"name_{name.strip('_')}", f"aten::{name}(x)", x=tensor(3, kind), also=[{"x": tensor(0, kind)}])
row("name_number_to_tensor", "prim::NumToTensor.bool(a)", a=True, also=[{"a": False}])

# ---- Queries of tensors -----------------------------------------------------------------------------

LYING = [{"x": f32(0, 3)}, {"x": transposed(f32(3, 5))}, {"x": i64(4, 2)}]
for name in ("aten::sym_size", "aten::sym_stride", "aten::sym_numel", "aten::sym_storage_offset", "prim::itemsize", "prim::layout", "prim::name", "prim::is_sparse",
             "prim::is_mkldnn", "prim::is_nested", "prim::is_meta", "prim::is_mps", "prim::is_vulkan", "prim::is_xpu", "prim::is_xla", "prim::is_ipu",
             "prim::is_sparse_csr", "prim::is_mtia", "prim::is_maia", "prim::data", "aten::cpu", "aten::is_inference"):
    row(f"name_{name[6:]}", f"{name}(x)", x=noncontig(f32(3, 5)), also=LYING)
for name in ("sym_size", "sym_stride"):
    row(f"name_{name}_along", f"aten::{name}.int(x, d)", x=noncontig(f32(3, 5)), d=-1, also=[{"d": 0}])
row("name_get_device", "aten::get_device(x)", x=f32(2))
row("name_no_grad", "prim::grad(x)", x=f32(2))
row("name_requires_grad", "aten::requires_grad_(x, False)", x=f32(3))
row("name_is_same_size", "aten::is_same_size(x, y)", x=f32(2, 3), y=i64(2, 3), also=[{"y": f32(3, 2)}, {"y": f32(6)}])
row("name_is_set_to", "aten::is_set_to(x, y)", x=f32(2, 3), y=of("x"), also=[{"y": f32(2, 3)}])
for value in (2, 2.5):
    kind = type(value).__name__
    row(f"name_result_type_of_{kind}_and_tensor", "aten::result_type.Scalar_Tensor(a, x)", a=value, x=f32(2), also=[{"x": i32(2)}, {"x": b8()}])
    row(f"name_result_type_of_{kind}_and_number", "aten::result_type.Scalar_Scalar(a, b)", a=value, b=3, also=[{"b": 1.5}, {"b": True}])
for name in ("is_autocast_enabled", "is_grad_enabled", "_get_tracing_state", "is_scripting"):
    row(f"name_{name.strip('_')}", f"aten::{name}()")
row("name_set_grad_enabled", "aten::set_grad_enabled(False)")
for name in ("sym_constrain_range", "sym_constrain_range_for_size"):
    row(f"name_{name}", f"aten::{name}(n, min=2, max=9)", n=3)
row("name_device", "aten::device(a)", a="cpu")
row("name_device_with_index", "aten::device.with_index('cpu', n)", n=0)
row("name_devices", "(torch.device(a).type, torch.device(a).index, torch.device(a) == torch.device(b), torch.device(a) != torch.device(b))", a="cpu", b="cpu:0",
    also=[{"b": "cpu"}, {"a": "cpu:0"}])
row("name_has_torch_function", "torch.jit.annotate(bool, torch.overrides.has_torch_function((x,)))", x=f32(2))
row("name_size", "aten::Size(a)", a=[2, 3], also=[{"a": [1]}])
row("name_assert_scalar", "aten::_assert_scalar(a, 'no')", a=1, also=[{"a": 2.5}])
row("name_assert_async", "aten::_assert_async(x)", x=tensor(1.5), also=[{"x": tensor([3], "i64")}])
row("name_assert_async_message", "aten::_assert_async.msg(x, 'no')", x=tensor(1.5))
row("name_string_index", "prim::StringIndex(a, n)", a="hällo", n=0, also=[{"n": -1}])
row("name_rangelist", "prim::rangelist(n)", n=5, also=[{"n": 0}])

# ---- Lists -----------------------------------------------------------------------------------------

LISTS = {"int": ([3, 0, 2], [3, 1]), "float": ([1.5, 0.0, 2.0], [1.5, -1.0]), "bool": ([True, False, True], [True, False]), "str": (["b", "", "a"], ["b", "c"])}
for kind, (a, b) in LISTS.items():
    row(f"name_any_of_{kind}s", f"aten::any.{kind}(a)", a=a, also=[{"a": [type(a[0])()]}])
    row(f"name_count_of_{kind}s", f"aten::count.{kind}(a, b)", a=a, b=a[0], also=[{"b": b[1]}])
    row(f"name_remove_of_{kind}s", f"aten::remove.{kind}(a, b)", a=a + a, b=a[1], mutates=True)
    row(f"name_sort_of_{kind}s", f"aten::sort.{kind}(a, down)", a=a, down=False, mutates=True, also=[{"down": True}])
    row(f"name_sorted_{kind}s", f"aten::sorted.{kind}(a)", a=a)
    row(f"name_eq_of_{kind}s", f"aten::eq.{kind}_list(a, b)", a=a, b=b, also=[{"b": a}])
    row(f"name_ne_of_{kind}s", f"aten::ne.{kind}_list(a, b)", a=a, b=b, also=[{"b": a}])
    if kind != "str":
        row(f"name_all_of_{kind}s", f"aten::all.{kind}(a)", a=a, also=[{"a": a[:1]}])
        for name in ("min", "max"):
            row(f"name_{name}_of_{kind}s", f"prim::{name}.self_{kind}(a)", a=a, also=[{"a": b}])
            row(f"name_{name}_of_two_{kind}_lists", f"prim::{name}.{kind}_list(a, b)", a=a, b=b, also=[{"b": a}])
row("name_select_of_list", "aten::select.t(a, n)", a=[f32(2), f32(3)], n=1, also=[{"n": -2}])
row("name_repeated_list", "aten::mul.right_(n, a)", a=[1, 2], n=3, also=[{"n": 0}])

# ---- Dicts -----------------------------------------------------------------------------------------

KEYS = {"str": ("a", "b", "c"), "int": (1, -2, 3), "float": (0.5, -2.0, 3.25), "bool": (True, False, False), "complex": (0.5 + 1j, -2j, 3.25 + 0j)}
row("name_ordered_dict", "d = OrderedDict()\nd['a'] = x\nreturn d", x=f32(2))
for kind, (a, b, c) in KEYS.items():
    row(f"name_dict_of_{kind}_pairs", f"aten::dict.{kind}(p)", p=[(a, 1), (b, 2), (a, 3)])
    whole = dict(d={a: 1, b: 2}, also=[{"d": {a: 5}}])
    for op in ("copy.Dict_{}", "dict.Dict_{}", "len.Dict_{}", "keys.{}", "values.{}", "items.{}"):
        row(f"name_dict_{op.partition('.')[0]}_{'of_dict_' * op.startswith('dict')}{kind}", f"aten::{op.format(kind)}(d)", **whole)
    for op in ("clear.{}", "popitem.{}"):
        row(f"name_dict_{op.partition('.')[0]}_{kind}", f"aten::{op.format(kind)}(d)", mutates=True, **whole)
    for op in ("__getitem__.Dict_{}", "get.{}", "__contains__.{}"):
        row(f"name_dict_{op.partition('.')[0].strip('_')}_{kind}", f"aten::{op.format(kind)}(d, k)", d={a: 1, b: 2}, k=b, also=[{"k": a}])
    row(f"name_dict_get_or_{kind}", f"aten::get.default_{kind}(d, k, 7)", d={a: 1}, k=b, also=[{"k": a}])
    row(f"name_dict_setdefault_{kind}", f"aten::setdefault.{kind}(d, k, 7)", d={a: 1}, k=b, mutates=True, also=[{"k": a}])
    row(f"name_dict_set_item_{kind}", f"aten::_set_item.{kind}(d, k, 7)", d={a: 1}, k=b, mutates=True, also=[{"k": a}])
    row(f"name_dict_delete_{kind}", f"aten::Delete.Dict_{kind}(d, k)", d={a: 1, b: 2}, k=a, mutates=True)
    row(f"name_dict_pop_{kind}", f"aten::pop.Dict_{kind}(d, k)", d={a: 1, b: 2}, k=a, mutates=True)
    row(f"name_dict_pop_or_{kind}", f"aten::pop.Dict_default_{kind}(d, k, 7)", d={a: 1}, k=b, mutates=True, also=[{"k": a}])
    row(f"name_dict_update_{kind}", f"aten::update.{kind}(d, e)", d={a: 1}, e={a: 2, b: 3}, mutates=True)
row("name_dict_of_nothing", "d = dict()\nd['a'] = x\nreturn d", x=f32(2))
row("name_dict_of_tensor_pairs", "aten::dict.Tensor(p)", p=[(f32(1), 1), (f32(2), 2)])

# ---- Types -----------------------------------------------------------------------------------------

row("name_unwrap_optional", "aten::_unwrap_optional(x)", x=f32(2))
row("name_unchecked_unwrap_optional", "prim::unchecked_unwrap_optional(x)", x=f32(2))
row("name_unchecked_cast", "prim::unchecked_cast(x)", x=f32(2))
row("name_if_then_else", "prim::IfThenElse(b, x, y)", b=True, x=f32(2), y=f32(3), also=[{"b": False}])
row("warning", """
import warnings

def f(x, n: int):
    warnings.warn("n is " + str(n))
    return x + n
""", x=f32(3), n=2, also=[{"n": 3}])
