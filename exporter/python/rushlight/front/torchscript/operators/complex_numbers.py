# Python's complex numbers. Follows register_prim_ops.cpp and register_special_ops.cpp of torch/csrc/jit/runtime.
# Each number counts as a tensor of one number. NAME__complex also serves the overloads with ints and floats.


def complex_tensor(z: number):
    return torch.scalar_tensor(z, dtype=torch.complex128)


def Complex__Scalar(a: number) -> complex:
    return torch.ComplexImplicit(complex_tensor(a))


def Complex(x: number, y: number) -> complex:
    real, imag = torch.scalar_tensor(x, dtype=torch.float64), torch.scalar_tensor(y, dtype=torch.float64)
    return torch.ComplexImplicit(torch.complex(real, imag))


def Complex__int_bool(x: int, y: bool) -> complex:
    return Complex(x, float(y))


def Complex__bool_int(x: bool, y: int) -> complex:
    return Complex(float(x), y)


def Complex__float_bool(x: float, y: bool) -> complex:
    return Complex(x, float(y))


def Complex__bool_float(x: bool, y: float) -> complex:
    return Complex(float(x), y)


def Complex__bool_bool(x: bool, y: bool) -> complex:
    return Complex(float(x), float(y))


def Complex__Tensor_Tensor(a: Tensor, b: Tensor) -> complex:
    return Complex(float(a), float(b))


def Complex__Tensor_float(x: Tensor, y: float) -> complex:
    return Complex(float(x), float(y))


def Complex__float_Tensor(x: float, y: Tensor) -> complex:
    return Complex(float(x), float(y))


def Complex__Tensor_int(x: Tensor, y: int) -> complex:
    return Complex(float(x), float(y))


def Complex__int_Tensor(x: int, y: Tensor) -> complex:
    return Complex(float(x), float(y))


def Complex__Tensor_bool(x: Tensor, y: bool) -> complex:
    return Complex(float(x), float(y))


def Complex__bool_Tensor(x: bool, y: Tensor) -> complex:
    return Complex(float(x), float(y))


def add__complex(a: number, b: number) -> complex:
    return torch.ComplexImplicit(complex_tensor(a) + complex_tensor(b))


def sub__complex(a: number, b: number) -> complex:
    return torch.ComplexImplicit(complex_tensor(a) - complex_tensor(b))


def mul__complex(a: number, b: number) -> complex:
    return torch.ComplexImplicit(complex_tensor(a) * complex_tensor(b))


def div__complex(a: complex, b: complex) -> complex:
    return torch.ComplexImplicit(complex_tensor(a) / complex_tensor(b))


def pow__complex(a: number, b: number) -> complex:
    return torch.ComplexImplicit(torch.pow(complex_tensor(a), complex_tensor(b)))


def eq__complex(a: number, b: number) -> bool:
    return bool(complex_tensor(a) == complex_tensor(b))


def ne__complex(a: number, b: number) -> bool:
    return bool(complex_tensor(a) != complex_tensor(b))


def log__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.log(complex_tensor(a)))


def log__complex_complex(a: complex, b: complex) -> complex:
    return torch.ComplexImplicit(torch.log(complex_tensor(a)) / torch.log(complex_tensor(b)))


def log__int_complex(a: int, b: complex) -> complex:
    return torch.ComplexImplicit(torch.log(complex_tensor(a)) / torch.log(complex_tensor(b)))


def log__complex_int(a: complex, b: int) -> complex:
    return torch.ComplexImplicit(torch.log(complex_tensor(a)) / torch.log(complex_tensor(b)))


def log__float_complex(a: float, b: complex) -> complex:
    return torch.ComplexImplicit(torch.log(complex_tensor(a)) / torch.log(complex_tensor(b)))


def log__complex_float(a: complex, b: float) -> complex:
    return torch.ComplexImplicit(torch.log(complex_tensor(a)) / torch.log(complex_tensor(b)))


def neg__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.neg(complex_tensor(a)))


def sqrt__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.sqrt(complex_tensor(a)))


def exp__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.exp(complex_tensor(a)))


def log10__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.log10(complex_tensor(a)))


def sin__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.sin(complex_tensor(a)))


def cos__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.cos(complex_tensor(a)))


def tan__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.tan(complex_tensor(a)))


def asin__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.asin(complex_tensor(a)))


def acos__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.acos(complex_tensor(a)))


def atan__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.atan(complex_tensor(a)))


def sinh__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.sinh(complex_tensor(a)))


def cosh__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.cosh(complex_tensor(a)))


def tanh__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.tanh(complex_tensor(a)))


def asinh__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.asinh(complex_tensor(a)))


def acosh__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.acosh(complex_tensor(a)))


def atanh__complex(a: complex) -> complex:
    return torch.ComplexImplicit(torch.atanh(complex_tensor(a)))


def isnan__complex(a: complex) -> bool:
    return bool(torch.isnan(complex_tensor(a)))


def isinf__complex(a: complex) -> bool:
    return bool(torch.isinf(complex_tensor(a)))


def isfinite__complex(a: complex) -> bool:
    return bool(torch.isfinite(complex_tensor(a)))


def prim_abs__complex(a: complex) -> float:
    return float(torch.abs(complex_tensor(a)))


def angle__complex(a: complex) -> float:
    return float(torch.angle(complex_tensor(a)))


def angle__float(a: float) -> float:
    return float(torch.angle(torch.scalar_tensor(a, dtype=torch.float64)))


def angle__int(a: int) -> float:
    return angle__float(float(a))


def polar_of(a: float, b: float) -> complex:
    return torch.ComplexImplicit(torch.polar(torch.scalar_tensor(a, dtype=torch.float64), torch.scalar_tensor(b, dtype=torch.float64)))


def sum__complex(self: List[complex]) -> complex:
    out = complex_tensor(0)
    for item in self:
        out += complex_tensor(item)
    return torch.ComplexImplicit(out)


def as_tensor__complex(t: complex, dtype: Optional[int], device: Optional[Device]):
    return torch.tensor(t, dtype=dtype)


def polar__int(a: int, b: int) -> complex:
    return polar_of(float(a), float(b))


def polar__float(a: float, b: float) -> complex:
    return polar_of(float(a), float(b))


def polar__int_float(a: int, b: float) -> complex:
    return polar_of(float(a), float(b))


def polar__float_int(a: float, b: int) -> complex:
    return polar_of(float(a), float(b))
