"""Aliases and overloads that TorchScript would not select, called by their own names (one_operator.py)."""
from conformance import *

ODD = tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, NAN, INF, -INF])
UNARY = ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "special_exp2", "special_expm1", "special_log1p", "special_expit", "special_erf",
         "special_erfc", "special_gammaln", "special_digamma", "special_psi", "special_erfinv", "special_i0", "special_sinc", "deg2rad", "fix", "absolute",
         "negative", "isposinf", "isneginf")
for name in UNARY:
    row(f"name_{name}", f"aten::{name}(x)", x=f32(3, 7), also=[{"x": f64(5)}, {"x": ODD}, {"x": noncontig(f32(2, 5))}, {"x": f32(0)}, {"x": i64(4)}, {"x": tensor(0.25)}])
row("name_conj_physical", "aten::_conj_physical(x)", x=random("c64", 3, 5), also=[{"x": f32(4)}])
row("name_special_logit", "aten::special_logit(x)", x=f32(17, lo=0.01, hi=0.99), also=[{"x": ODD}, {"x": f64(5, lo=0.01, hi=0.99)}])
row("name_special_logit_eps", "aten::special_logit(x, 0.1)", x=f32(17, lo=-0.2, hi=1.2), also=[{"x": f64(5, lo=0, hi=1)}])
row("name_special_round", "aten::special_round(x, decimals=n)", x=f32(17, lo=-99, hi=99), n=1, also=[{"n": 0}, {"n": -1}, {"x": f64(5), "n": 3}])
row("name_rrelu", "aten::rrelu_with_noise(x, y, 0.1, 0.3)", x=f32(3, 7), y=f32(3, 7), also=[{"x": ODD, "y": ODD}])

# ---- Two operands ----------------------------------------------------------------------------------

PAIR = dict(x=f32(3, 7), y=f32(7), also=[{"x": i64(5), "y": i64(5, lo=1, hi=9)}, {"x": f64(4), "y": f32(4)}, {"x": ODD, "y": tensor(2.0)}, {"x": i64(2), "y": f32(2)},
                                         {"x": transposed(f32(3, 5)), "y": f32(3, 1)}, {"x": f32(0), "y": f32(1)}])
NUMBER = dict(x=f32(3, 7), y=2, also=[{"y": -1.5}, {"x": i64(5), "y": 3}, {"x": ODD, "y": 0.5}, {"x": f64(4), "y": 7}, {"x": i64(5), "y": 2.5}])
for name in ("subtract", "multiply", "true_divide", "divide", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    row(f"name_{name}", f"aten::{name}.Tensor(x, y)", **PAIR)
    row(f"name_{name}_number", f"aten::{name}.Scalar(x, y)", **NUMBER)
row("name_rsub", "aten::rsub.Tensor(x, y, alpha=2)", **PAIR)
row("name_min_other", "aten::min.other(x, y)", **PAIR)
row("name_clamp_max", "aten::clamp_max.Tensor(x, y)", **PAIR)
FLOATS_ALONE = dict(x=f32(3, 7), y=f32(7), also=[{"x": f64(4), "y": f32(4)}, {"x": ODD, "y": tensor(2.0)}, {"x": i64(5), "y": f32(5)}])
row("name_arctan2", "aten::arctan2(x, y)", **FLOATS_ALONE)
for mode in ("trunc", "floor"):
    row(f"name_divide_{mode}", f"aten::divide.Tensor_mode(x, y, rounding_mode='{mode}')", **PAIR)
    row(f"name_divide_{mode}_number", f"aten::divide.Scalar_mode(x, y, rounding_mode='{mode}')", **NUMBER)
    row(f"name_div_{mode}_number", f"aten::div.Scalar_mode(x, y, rounding_mode='{mode}')", **NUMBER)
row("name_fmod_number", "aten::fmod.Scalar(x, y)", **NUMBER)
row("name_copysign_number", "aten::copysign.Scalar(x, y)", x=f32(3, 7), y=-0.0, also=[{"y": 2}, {"x": ODD, "y": -1}])
for name in ("special_xlogy", "special_xlog1py"):
    of_numbers = ("self_scalar", "other_scalar")
    row(f"name_{name}", f"aten::{name}(x, y)", x=f32(3, 7), y=f32(7, lo=0, hi=3), also=[{"x": ODD, "y": tensor(0.5)}, {"x": tensor(0.0), "y": ODD}])
    row(f"name_{name}_of_number", f"aten::{name}.self_scalar(y, x)", x=f32(3, 7, lo=0, hi=3), y=2, also=[{"y": 0.0}, {"y": 1.5, "x": ODD}])
    row(f"name_{name}_number", f"aten::{name}.other_scalar(x, y)", x=f32(3, 7), y=2, also=[{"y": 0.0}, {"y": 1.5, "x": ODD}])
row("name_xlogy_of_number", "aten::xlogy.Scalar_Self(y, x)", x=f32(3, 7, lo=0, hi=3), y=2, also=[{"y": 0.0}, {"y": 1.5, "x": ODD}])
row("name_xlogy_number", "aten::xlogy.Scalar_Other(x, y)", x=f32(3, 7), y=2, also=[{"y": 0.0}, {"y": 1.5, "x": ODD}])
row("name_float_power_of_number", "aten::float_power.Scalar(y, x)", x=f32(3, 7), y=2, also=[{"y": 1.5}, {"x": i64(5, lo=-3, hi=3)}])
row("name_prelu_kernel", "aten::_prelu_kernel(x, y)", x=f32(3, 7), y=f32(1, 7), also=[{"x": ODD, "y": tensor([0.25])}, {"x": f32(4), "y": f32(7, 4, 1)}, {"x": f32(1, 5), "y": permuted(f32(1, 5, 2), 2, 0, 1)}])
row("name_clip", "aten::clip(x, a, b)", x=f32(3, 7), a=-0.5, b=0.5, also=[{"x": i64(5), "a": -2, "b": 3}, {"x": ODD, "b": None}])
row("name_clip_tensors", "aten::clip.Tensor(x, a, b)", x=f32(3, 7), a=f32(7, lo=-1, hi=0), b=f32(7, lo=0, hi=1), also=[{"a": None}, {"x": ODD, "b": None, "a": tensor(0.0)}])

# ---- In place --------------------------------------------------------------------------------------

row("name_pow_in_place", "aten::pow_.Tensor(x, y)", x=f32(3, 7, lo=0.1, hi=3), y=f32(7), mutates=True, also=[{"x": i64(5), "y": i64(5, lo=0, hi=3)}])
row("name_floor_divide_in_place", "aten::floor_divide_.Tensor(x, y)", x=f32(3, 7), y=f32(7), mutates=True, also=[{"x": i64(5), "y": i64(5, lo=1, hi=9)}])
BITS = dict(x=i64(3, 7), mutates=True)
for name in ("iand", "ior", "ixor"):
    row(f"name_{name}", f"aten::__{name}__.Tensor(x, y)", y=i64(7), also=[{"x": b8(5), "y": b8(5)}, {"x": u8(5), "y": u8(1)}], **BITS)
    row(f"name_{name}_number", f"aten::__{name}__.Scalar(x, y)", y=6, also=[{"x": i32(5), "y": -3}, {"x": u8(5), "y": 7}], **BITS)
for name in ("ilshift", "irshift"):
    row(f"name_{name}", f"aten::__{name}__.Tensor(x, y)", y=i64(7, lo=0, hi=9), also=[{"x": i32(5), "y": i32(5, lo=0, hi=9)}, {"x": u8(5), "y": u8(1, lo=0, hi=5)}], **BITS)
    row(f"name_{name}_number", f"aten::__{name}__.Scalar(x, y)", y=3, also=[{"x": i32(5), "y": 0}, {"x": u8(5), "y": 7}], **BITS)

# ---- Bits ------------------------------------------------------------------------------------------

for name in ("and", "or", "xor"):
    row(f"name_bitwise_{name}_number", f"aten::bitwise_{name}.Scalar(x, y)", x=i64(3, 7), y=6, also=[{"x": i32(5), "y": -3}, {"x": b8(5), "y": True}])
    row(f"name_bitwise_{name}_of_number", f"aten::bitwise_{name}.Scalar_Tensor(y, x)", x=i64(3, 7), y=6, also=[{"x": i32(5), "y": -3}, {"x": u8(5), "y": 7}])
for name in ("left", "right"):
    row(f"name_{name}_shift_number", f"aten::bitwise_{name}_shift.Tensor_Scalar(x, y)", x=i64(3, 7), y=3, also=[{"x": i32(5), "y": 0}, {"x": u8(5), "y": 7}])
    row(f"name_{name}_shift_of_number", f"aten::bitwise_{name}_shift.Scalar_Tensor(y, x)", x=i64(3, 7, lo=0, hi=9), y=100, also=[{"x": i32(5, lo=0, hi=9), "y": -3}])
    row(f"name_{name[0]}shift_number", f"aten::__{name[0]}shift__.Scalar(x, y)", x=i64(3, 7), y=3, also=[{"x": i32(5), "y": 0}, {"x": u8(5), "y": 7}])
