# Follows aten/src/ATen/native/UnaryOps.cpp, Activation.cpp, SoftMax.cpp


def isreal(x):
    if torch.is_complex(x):
        return torch.imag(x) == 0
    return torch.ones_like(x, dtype=torch.bool)


def special_entr(x):
    at = x if torch.is_floating_point(x) else x.to(torch.float32)
    return torch.where(at > 0, -at * torch.log(at), torch.where(at == 0, torch.zeros_like(at), torch.where(torch.isnan(at), at, torch.full_like(at, -float("inf")))))


def mvlgamma(x, p: int):
    assert p >= 1, "p has to be greater than or equal to 1"
    at = x if torch.is_floating_point(x) else x.to(torch.float32)
    args = torch.arange(p, dtype=at.dtype) * 0.5 + (0.5 - 0.5 * p + 0.0)
    return torch.sum(torch.lgamma(at.unsqueeze(-1) + args), [-1]) + p * (p - 1) * 0.2861824714623501


def special_multigammaln(x, p: int):
    return mvlgamma(x, p)


def _safe_softmax(x, dim: int, dtype: Optional[int]):
    out = torch.softmax(x, dim, dtype)
    hidden = torch.all(x == -float("inf"), dim, True)
    return torch.where(hidden, torch.zeros_like(out), out)


def rrelu_with_noise(x, noise, lower: number, upper: number, training: bool, generator: Optional[Generator]):
    assert float(lower) <= float(upper), "Lower bound should be less than or equal to the upper bound"
    x = x.contiguous()  # so is the result
    if not training:
        return torch.leaky_relu(x, (float(lower) + float(upper)) / 2)
    below = x <= 0
    drawn = torch.empty([int(torch.sum(below))], dtype=torch.float64).uniform_(float(lower), float(upper))
    slopes = torch.masked_scatter(torch.ones_like(x), below, drawn.to(x.dtype))
    noise.copy_(slopes)
    return x * slopes


def rrelu(x, lower: number, upper: number, training: bool, generator: Optional[Generator]):
    return rrelu_with_noise(x, torch.empty_like(x), lower, upper, training, generator)


def rrelu_(x, lower: number, upper: number, training: bool, generator: Optional[Generator]):
    return x.copy_(rrelu(x, lower, upper, training, generator))


def rrelu_with_noise_(x, noise, lower: number, upper: number, training: bool, generator: Optional[Generator]):
    return x.copy_(rrelu_with_noise(x, noise, lower, upper, training, generator))


def power_of_two(n):
    """Multiplies in two steps, because 2 to the power of 1074 is too large for a double."""
    half = torch.clamp(n, -1000, 1000)
    return torch.pow(2.0, half.to(torch.float64)), torch.pow(2.0, (n - half).to(torch.float64))


def frexp__Tensor(x):
    assert torch.is_floating_point(x), "torch.frexp() only supports floating-point dtypes"
    wide = x.to(torch.float64)
    special = torch.logical_or(wide == 0, torch.logical_not(torch.isfinite(wide)))
    usual = torch.masked_fill(wide, special, 0.5)
    below = torch.abs(usual) < 1  # a denormal number becomes a normal one, 54 powers of two larger
    up = torch.where(below, usual * 18014398509481984.0, usual)
    n = torch.floor(torch.log2(torch.abs(up))).to(torch.int64) + 1 - 54 * below.to(torch.int64)
    a, b = power_of_two(-n)
    mantissa = usual * a * b
    large, small = torch.abs(mantissa) >= 1, torch.abs(mantissa) < 0.5  # the logarithm was rounded
    mantissa = torch.where(large, mantissa * 0.5, torch.where(small, mantissa * 2.0, mantissa))
    n = n + large.to(torch.int64) - small.to(torch.int64)
    return torch.where(special, wide, mantissa).to(x.dtype), torch.masked_fill(n, special, 0).to(torch.int32)


def gcd(x, other):
    assert not torch.is_floating_point(x) and not torch.is_floating_point(other) and x.dtype != torch.bool, "gcd is not implemented for other than integers"
    dtype = torch.result_type(x, other)
    a, b = torch.abs(x.to(dtype)) + torch.zeros_like(other), torch.abs(other.to(dtype)) + torch.zeros_like(x)
    while bool(torch.any(b != 0)):
        done = b == 0
        rest = torch.fmod(a, torch.masked_fill(b, done, 1))
        a, b = torch.where(done, a, b), torch.masked_fill(rest, done, 0)
    return torch.abs(a)


def lcm(x, other):
    divisor = gcd(x, other)
    none = divisor == 0
    return torch.masked_fill(torch.abs(torch.div(x, torch.masked_fill(divisor, none, 1), rounding_mode="trunc") * other), none, 0)


def _no_grad_fill_(tensor, val: float):
    return tensor.fill_(val)


def _no_grad_zero_(tensor):
    return tensor.zero_()


def _add_relu__Tensor(x, y, alpha: number):
    return torch.relu(torch.add(x, y, alpha=alpha))


def is_leaf(x) -> bool:
    return True


def retains_grad(x) -> bool:
    return False


def is_pinned(x, device: Optional[Device]) -> bool:
    return False
