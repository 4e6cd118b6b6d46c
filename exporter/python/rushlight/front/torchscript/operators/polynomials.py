# Orthogonal polynomials, whose degree may be a tensor. Follows aten/src/ATen/native/Math.h.


def degree_of(n):
    """Returns the degree. NaN becomes a negative degree, as in PyTorch."""
    if torch.is_floating_point(n):
        n = torch.where(torch.isfinite(n), n, torch.full_like(n, -1))
    return n.to(torch.int64)


def recurrence(kind: int, x, n, first):
    """Returns the polynomials of degree n by their recurrence from 1 and `first`."""
    p, q = torch.ones_like(x), first
    y = torch.where(n == 0, p, q)
    last = int(torch.max(n)) if n.numel() > 0 else 0
    for m in range(2, last + 1):
        k = m - 1
        if kind == 0:
            r = (x + x) * q - p
        elif kind == 1:
            r = (x + x) * q - (k + k) * p
        elif kind == 2:
            r = x * q - k * p
        elif kind == 3:
            r = (((k + k) + (1.0 - x)) * q - k * p) / (k + 1)
        else:
            r = ((k + k + 1) * x * q - k * p) / (k + 1)
        p, q = q, r
        y = torch.where(n == m, r, y)
    return y


def chebyshev(kind: str, x, n):
    """Returns T, U, V or W at x."""
    if kind == "t":
        first, closed, least = x, torch.cos(n * torch.acos(x)), 6
    elif kind == "u":
        angle = torch.acos(x)
        s = torch.sin(angle)
        closed = torch.where(s != 0, torch.sin((n + 1) * angle) / s, (n + 1) * torch.cos((n + 1) * angle) / x)
        first, least = x + x, 8
    elif kind == "v":
        angle = torch.acos(x)
        closed = torch.cos((n + 0.5) * angle) / torch.cos(angle / 2.0)
        first, least = x + x - 1.0, 8
    else:
        angle = torch.acos(x)
        closed = torch.sin((n + 0.5) * angle) / torch.sin(angle / 2.0)
        first, least = x + x + 1.0, 8
    inside = torch.logical_and(torch.abs(x) < 1.0, n > least)
    y = torch.where(inside, closed, recurrence(0, x, torch.masked_fill(n, inside, 0), first))
    signs = torch.where(n % 2 == 0, torch.ones_like(x), -torch.ones_like(x))
    if kind == "t":
        right, left = torch.ones_like(x), signs
    elif kind == "u":
        right, left = (n + 1).to(x.dtype), (n + 1) * signs
    elif kind == "v":
        right, left = torch.ones_like(x), (n + n + 1) * signs
    else:
        right, left = (n + n + 1).to(x.dtype), signs
    y = torch.where(x == 1.0, right, torch.where(x == -1.0, left, y))
    return torch.masked_fill(y, n < 0, 0.0)


def evaluate_polynomial(kind: str, given, degree):
    dtype = result_float_dtype(given, degree)
    pair = torch.broadcast_tensors([to_float_of(given, dtype), degree_of(degree)])
    x, n = pair[0], pair[1]
    if kind == "t" or kind == "u" or kind == "v" or kind == "w":
        return chebyshev(kind, x, n).to(dtype)
    if kind == "shifted_t" or kind == "shifted_u" or kind == "shifted_v" or kind == "shifted_w":
        return chebyshev(kind[-1:], x + x - 1.0, n).to(dtype)
    if kind == "h":
        y = recurrence(1, x, n, x + x)
    elif kind == "he":
        y = recurrence(2, x, n, x)
    elif kind == "l":
        y = torch.where(x == 0.0, torch.ones_like(x), recurrence(3, x, n, 1.0 - x))
    else:
        y = recurrence(4, x, n, x)
        ends = torch.where(torch.logical_or(x > 0, n % 2 == 0), torch.ones_like(x), -torch.ones_like(x))
        y = torch.where(torch.abs(x) == 1.0, ends, y)
    return torch.masked_fill(y, n < 0, 0.0).to(dtype)


def special_chebyshev_polynomial_t(x, n):
    return evaluate_polynomial("t", x, n)


def special_chebyshev_polynomial_t__x_scalar(x: number, n):
    return evaluate_polynomial("t", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_chebyshev_polynomial_t__n_scalar(x, n: number):
    return evaluate_polynomial("t", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_chebyshev_polynomial_u(x, n):
    return evaluate_polynomial("u", x, n)


def special_chebyshev_polynomial_u__x_scalar(x: number, n):
    return evaluate_polynomial("u", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_chebyshev_polynomial_u__n_scalar(x, n: number):
    return evaluate_polynomial("u", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_chebyshev_polynomial_v(x, n):
    return evaluate_polynomial("v", x, n)


def special_chebyshev_polynomial_v__x_scalar(x: number, n):
    return evaluate_polynomial("v", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_chebyshev_polynomial_v__n_scalar(x, n: number):
    return evaluate_polynomial("v", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_chebyshev_polynomial_w(x, n):
    return evaluate_polynomial("w", x, n)


def special_chebyshev_polynomial_w__x_scalar(x: number, n):
    return evaluate_polynomial("w", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_chebyshev_polynomial_w__n_scalar(x, n: number):
    return evaluate_polynomial("w", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_shifted_chebyshev_polynomial_t(x, n):
    return evaluate_polynomial("shifted_t", x, n)


def special_shifted_chebyshev_polynomial_t__x_scalar(x: number, n):
    return evaluate_polynomial("shifted_t", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_shifted_chebyshev_polynomial_t__n_scalar(x, n: number):
    return evaluate_polynomial("shifted_t", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_shifted_chebyshev_polynomial_u(x, n):
    return evaluate_polynomial("shifted_u", x, n)


def special_shifted_chebyshev_polynomial_u__x_scalar(x: number, n):
    return evaluate_polynomial("shifted_u", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_shifted_chebyshev_polynomial_u__n_scalar(x, n: number):
    return evaluate_polynomial("shifted_u", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_shifted_chebyshev_polynomial_v(x, n):
    return evaluate_polynomial("shifted_v", x, n)


def special_shifted_chebyshev_polynomial_v__x_scalar(x: number, n):
    return evaluate_polynomial("shifted_v", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_shifted_chebyshev_polynomial_v__n_scalar(x, n: number):
    return evaluate_polynomial("shifted_v", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_shifted_chebyshev_polynomial_w(x, n):
    return evaluate_polynomial("shifted_w", x, n)


def special_shifted_chebyshev_polynomial_w__x_scalar(x: number, n):
    return evaluate_polynomial("shifted_w", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_shifted_chebyshev_polynomial_w__n_scalar(x, n: number):
    return evaluate_polynomial("shifted_w", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_hermite_polynomial_h(x, n):
    return evaluate_polynomial("h", x, n)


def special_hermite_polynomial_h__x_scalar(x: number, n):
    return evaluate_polynomial("h", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_hermite_polynomial_h__n_scalar(x, n: number):
    return evaluate_polynomial("h", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_hermite_polynomial_he(x, n):
    return evaluate_polynomial("he", x, n)


def special_hermite_polynomial_he__x_scalar(x: number, n):
    return evaluate_polynomial("he", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_hermite_polynomial_he__n_scalar(x, n: number):
    return evaluate_polynomial("he", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_laguerre_polynomial_l(x, n):
    return evaluate_polynomial("l", x, n)


def special_laguerre_polynomial_l__x_scalar(x: number, n):
    return evaluate_polynomial("l", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_laguerre_polynomial_l__n_scalar(x, n: number):
    return evaluate_polynomial("l", x, torch.full([], n, dtype=as_floating_point(x).dtype))


def special_legendre_polynomial_p(x, n):
    return evaluate_polynomial("p", x, n)


def special_legendre_polynomial_p__x_scalar(x: number, n):
    return evaluate_polynomial("p", torch.full([], x, dtype=as_floating_point(n).dtype), n)


def special_legendre_polynomial_p__n_scalar(x, n: number):
    return evaluate_polynomial("p", x, torch.full([], n, dtype=as_floating_point(x).dtype))
