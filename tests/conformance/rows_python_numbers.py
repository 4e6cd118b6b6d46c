"""Numbers in TorchScript that differ from Python's, or that are surprising."""
from conformance import *

INTS_ = [(7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (9223372036854775807, 2), (-9223372036854775808, 3)]
FLOATS_ = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-8.0, 0.333), (0.0, -1.0), (7.5, INF), (1e300, 1e-10), (-0.0, 3.0)]


def also(pairs):
    return [{"a": a, "b": b} for a, b in pairs[1:]]


def pairs(name, body, cases, **options):
    row(name, body, a=cases[0][0], b=cases[0][1], also=also(cases), **options)


pairs("scalar_ints_arithmetic", "(a + b, a - b, a * b, a / b, a // b, a % b, -a, divmod(a, b))", INTS_)
pairs("scalar_ints_bits", "(a & b, a | b, a ^ b, a << b, a >> b)", [(7, 3), (-7, 3), (7, 0), (-1, 63), (13, 6)])
pairs("scalar_ints_wrap", "(a + b, a * b, a - b, -b)", [(9223372036854775807, 1), (4611686018427387904, 4), (-9223372036854775808, 1)])
pairs("scalar_ints_power", "(a ** b, pow(a, b))", [(2, 10), (2, -1), (2, 70), (-3, 3), (7, 0)])
pairs("scalar_ints_compare", "(a < b, a <= b, a > b, a >= b, a == b, a != b, min(a, b), max(a, b))", INTS_)
pairs("scalar_ints_math", "(math.gcd(a, b), math.fmod(a, b), math.copysign(a, b), math.atan2(a, b), math.remainder(a, b), abs(a), float(a), bool(a))", INTS_[:5])
pairs("scalar_floats_arithmetic", "(a + b, a - b, a * b, a / b, a // b, a % b, -a, a ** 2.0)", FLOATS_)
pairs("scalar_floats_compare", "(a < b, a <= b, a > b, a >= b, a == b, a != b, min(a, b), max(a, b))", FLOATS_ + [(NAN, 1.0), (1.0, NAN), (INF, -INF)])
pairs("scalar_floats_math", "(math.fmod(a, b), math.copysign(a, b), math.atan2(a, b), math.remainder(a, b), math.fabs(a), divmod(a, b))", FLOATS_[:5])
pairs("scalar_mixed", "(a + b, a - b, a * b, a / b, a // b, a % b, a < b, a == b, a >= b, min(a, b), max(a, b))", [(7, -2.5), (-7, 2.0), (0, 1.5), (3, 3.0)])
pairs("scalar_mixed_turned", "(a + b, a - b, a * b, a / b, a // b, a % b, a < b, a == b, a >= b, a ** b, min(a, b), max(a, b))", [(7.5, -2), (-7.5, 2), (0.5, 3), (3.0, 3)])
pairs("scalar_float_by_zero", "(a / b, a // b, a % b)", [(7.5, 0.0), (-7.5, 0.0), (0.0, 0.0)])
row("scalar_int_by_zero", "(a / b, -a / b)", a=7, b=0)
row("scalar_floordiv_by_zero", "a // b", a=7, b=0, raises="division by 0")
row("scalar_divmod_by_zero", "divmod(a, b)", a=7, b=0, raises="integer division or modulo by zero")
row("scalar_zero_to_negative", "a ** b", a=0.0, b=-1.0, raises="0.0 cannot be raised to a negative power")
VALUES = [2.5, 3.5, -2.5, -0.4, 0.5, 1.5, 1e15]
row("scalar_rounding", "(int(a), round(a), math.floor(a), math.ceil(a), bool(a))", a=2.5, also=[{"a": v} for v in VALUES])
row("scalar_int_of_large", "(int(a), int(-a))", a=1e20, also=[{"a": INF}, {"a": NAN}])
row("scalar_round_special", "(round(a), bool(a), -a)", a=1e20, also=[{"a": INF}, {"a": NAN}, {"a": -0.4}])
row("scalar_floor_of_large", "math.floor(a)", a=1e20, raises="Cannot convert float 100000000000000000000.000000 to integer")
row("scalar_ceil_of_nan", "math.ceil(a)", a=NAN, raises="to integer")
row("scalar_unary", "(math.sqrt(a), math.exp(a), math.expm1(a), math.log(a), math.log1p(a), math.log10(a), math.sin(a), math.cos(a), math.tan(a), math.sinh(a), math.cosh(a), math.tanh(a), math.asinh(a), math.atan(a))",
    a=0.5, also=[{"a": 0.0}, {"a": 3.75}, {"a": -1.5}, {"a": 1000.0}])
row("scalar_unary_more", "(math.asin(a), math.acos(a), math.atanh(a), math.erf(a), math.erfc(a), math.gamma(a), math.lgamma(a), math.degrees(a), math.radians(a))",
    a=0.5, also=[{"a": -0.25}, {"a": 2.5}, {"a": 5.0}])
row("scalar_unary_of_ints", "(math.sqrt(n), math.log(n), math.exp(n), math.floor(n), math.ceil(n), round(n), math.factorial(abs(n)), math.fabs(n))", n=5, also=[{"n": 20}, {"n": -3}, {"n": 0}])
row("scalar_log_base", "(math.log(a, b), math.log(n, 2), math.log(n, b), math.log(a, n))", a=8.0, b=2.0, n=5)
row("scalar_parts", "(math.frexp(a), math.modf(a), math.ldexp(a, n))", a=3.5, n=2, also=[{"a": -3.5}, {"a": 0.0}, {"n": -3}, {"a": INF}, {"a": -INF}, {"a": NAN}])
row("scalar_is", "(math.isnan(a), math.isinf(a), math.isfinite(a))", a=1.5, also=[{"a": NAN}, {"a": INF}, {"a": -INF}])
row("scalar_factorial_negative", "math.factorial(n)", n=-1, raises="factorial() not defined for negative values")
row("scalar_bools", "(a & b, a | b, a ^ b, not a, a == b, a != b, int(a), float(b), a and b, a or b)", a=True, b=False, also=[{"a": False}, {"b": True}])
row("scalar_of_tensors", "(int(x), float(x), bool(x), x.item(), int(i), float(i), i.item(), m.item(), bool(m))", x=tensor(1.75), i=tensor([[3]], "i64"), m=tensor(True, "b8"))
row("scalar_implicit", "(x * torch.add(n, 1), torch.zeros(int(n)).size())", x=f32(2), n=tensor(2, "i64"))
row("scalar_tensor_sizes", "(x.size(0) * x.size(1) // 2, x.size(0) / 4, x.numel() % 5, -x.dim())", x=f32(3, 4))
row("scalar_traced_sizes", "x.view(x.size(0) * x.size(1), -1) * x.size(2)", x=f32(2, 3, 4), trace=True)
row("scalar_types_mixed_list", "sum([float(n), 0.5]) + sum([n, 2])", n=3)
row("scalar_while", """
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k""", n=27)
row("scalar_infinity", "(math.inf > a, -math.inf < a, math.pi * a, math.e ** a, float('inf'), float('-inf'))", a=2.0)

# ---- Complex numbers ---------------------------------------------------------------------------------

COMPLEX_NUMBERS = [(3 + 4j, 1 - 2j), (-2.5 + 0j, 0.5j), (0j, 2 + 1j), (-1 - 1j, -3 + 0.25j), (1e200 + 1e200j, 1e-200 - 3j)]
pairs("complex_numbers", "(a + b, a - b, a * b, a / b, -a, abs(a), a == b, a != b, a == a, str(a))", COMPLEX_NUMBERS)
pairs("complex_numbers_and_ints", "(a + 2, 2 + a, a - 2, 2 - a, a * 3, 3 * a, b ** 2.0, 2.0 ** b)", COMPLEX_NUMBERS[:4])
pairs("complex_numbers_and_floats", "(a + 0.5, 0.5 + a, a - 0.5, 0.5 - a, a * 1.5, 1.5 * a, a == 3.0, 3.0 == a, a != 3.0, 3.0 != a)", COMPLEX_NUMBERS)
pairs("complex_numbers_power", "(a ** b, pow(b, a))", COMPLEX_NUMBERS[:2] + COMPLEX_NUMBERS[3:4])
row("complex_numbers_math", """
    return [cmath.exp(a), cmath.log(a), cmath.log10(a), cmath.sqrt(a), cmath.sin(a), cmath.cos(a), cmath.tan(a), cmath.asin(a), cmath.acos(a),
            cmath.atan(a), cmath.sinh(a), cmath.cosh(a), cmath.tanh(a), cmath.asinh(a), cmath.acosh(a), cmath.atanh(a)]""",
    a=0.5 + 1.25j, also=[{"a": -0.75 - 0.5j}, {"a": 2 - 3j}])
row("complex_numbers_logs", "(cmath.log(a, b), cmath.log(a, 3), cmath.log(2, a), cmath.log(a, 2.5), cmath.log(2.5, a))", a=0.5 + 1.25j, b=2 - 3j)
row("complex_numbers_questions", "(cmath.isnan(a), cmath.isinf(a), cmath.isfinite(a), cmath.phase(a))", a=0.5 + 1.25j,
    also=[{"a": complex(NAN, 1)}, {"a": complex(1, INF)}, {"a": complex(NAN, -INF)}, {"a": -2 + 0j}])
row("complex_numbers_of_polar", "(cmath.rect(r, p), cmath.rect(2, p), cmath.rect(r, 3), cmath.rect(2, 3))", r=1.5, p=-2.25)
row("complex_numbers_made", "[complex(x, x), complex(n, x), complex(x, n), complex(n, n), complex(b, n), complex(n, b), complex(b, x), complex(x, b), complex(b, b)]",
    x=1.5, n=-7, b=True)
row("complex_numbers_of_tensors", "[complex(x, y), complex(x, 2), complex(2, x), complex(x, 0.5), complex(0.5, x), complex(x, True), complex(True, x)]", x=tensor(1.5), y=tensor(3, "i64"))
row("complex_numbers_in_lists", "(z[0] * z[1], z[::2], z + [a], len(z), torch.tensor(a), torch.as_tensor(a))", z=[1 + 2j, 3j, 4 + 0j], a=3j)
row("complex_numbers_sum", "sum(z)", z=[1 + 2j, 3j, 4 + 0j])  # PyTorch's list holds zeros afterwards
row("complex_tolist", """
    a: List[List[complex]] = x.tolist()
    b: complex = x[0, 0].tolist()
    return a, b""", x=random("c64", 2, 3), also=[{"x": random("c128", 3, 1)}, {"x": transposed(random("c64", 3, 2))}])

# ---- Sizes ---------------------------------------------------------------------------------------

each("sizes", "(x.size(), x.size(1), x.size(-1), x.shape, x.stride(), x.stride(0), x.dim(), x.numel(), len(x), x.storage_offset(), x.ndim, x.element_size(), x.is_contiguous())")
row("dtype_questions", "(x.is_floating_point(), i.is_floating_point(), x.is_complex(), x.dtype, i.dtype, x.dtype == torch.float32, x.is_cuda, x.layout, b.dtype, x.is_signed(), x.nbytes)",
    x=f32(2), i=i64(2), b=b8(1))
row("device_questions", "(x.device.type, str(x.device), x.device == torch.device('cpu'), x.is_cpu, x.requires_grad)", x=f32(2))
row("result_types", "(torch.result_type(x, i), torch.result_type(i, 1.5), torch.result_type(z, i), torch.promote_types(torch.uint8, torch.int32), torch.can_cast(torch.float32, torch.int64))",
    x=f32(2), i=i64(2), z=f64())
row("pow_of_scalars", "aten::pow.Scalar_Scalar(a, b)", a=0.0, b=-3.5, types={"a": "number", "b": "number"}, also=[{"a": 0, "b": -3}, {"a": -8.0, "b": 0.5}, {"a": 2, "b": -3}])
row("pow_of_zero_refused", "(0.0 ** a, 0 ** b)", a=-1.0, b=-2, raises="cannot be raised to a negative power")
