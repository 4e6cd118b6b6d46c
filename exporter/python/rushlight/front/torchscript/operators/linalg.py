# Follows aten/src/ATen/native/BatchLinearAlgebra.cpp and LinearAlgebra.cpp, with the factors of the runtime
# (wasm/src/ops/linalg/factor.c). Several steps are computed in double and rounded once.


def to_float64(x):
    return x.to(torch.complex128) if torch.is_complex(x) else x.to(torch.float64)


def require_matrices(name: str, x):
    assert x.dim() >= 2, "{}: The input tensor A must have at least 2 dimensions.".format(name)
    assert x.dtype == torch.float32 or x.dtype == torch.float64 or torch.is_complex(x), "{}: Expected a floating point or complex tensor as input, and not one of low precision".format(name)


def require_square(name: str, x):
    require_matrices(name, x)
    assert x.size(-1) == x.size(-2), "{}: A must be batches of square matrices, but they are {} by {} matrices".format(name, x.size(-2), x.size(-1))


def first_failed_matrix(info):
    """Returns "(Batch element 3): " or nothing, and the number, of the first element that is not 0."""
    flat = info.flatten()
    at = int(torch.argmax(torch.ne(flat, 0).to(torch.int64)))
    return ("(Batch element {}): ".format(at) if info.dim() > 0 else ""), int(flat[at])


def is_all_zero(info):
    return not bool(torch.any(torch.ne(info, 0)))


def columns(x):
    """Stores the matrix column by column, as LAPACK does."""
    return torch.transpose(torch.clone(torch.transpose(x, -2, -1), memory_format=0), -2, -1) if x.dim() > 1 else x.contiguous()


def identity(like, rows: int, columns: int):
    return torch.eye(rows, columns, dtype=like.dtype).expand(like.size()[:-2] + [rows, columns])


# ---- LU


def linalg_lu_factor(x, pivot: bool):
    factors, pivots, info = torch.linalg_lu_factor_ex(x, pivot=pivot, check_errors=False)
    if not is_all_zero(info):
        where, at = first_failed_matrix(info)
        assert False, "torch.linalg.lu_factor: {}U[{},{}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)".format(where, at, at)
    return factors, pivots


def _lu_with_info(x, pivot: bool, check_errors: bool):
    return torch.linalg_lu_factor_ex(x, pivot=pivot, check_errors=check_errors)


def rows_of(pivots, rows: int):
    """Returns, for each row of L U, its row in A."""
    out = torch.arange(rows).expand(pivots.size()[:-1] + [rows]).clone()
    to = pivots.to(torch.int64) - 1
    for k in range(pivots.size(-1)):
        other = torch.narrow(to, -1, k, 1)
        here = torch.narrow(out, -1, k, 1).clone()
        torch.narrow(out, -1, k, 1).copy_(torch.gather(out, -1, other))
        out = torch.scatter(out, -1, other, here)
    return out


def lu_unpack(factors, pivots, data: bool, unpack_pivots: bool):
    assert not unpack_pivots or pivots.dtype == torch.int32, "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype."
    rows, least = factors.size(-2), min(factors.size(-2), factors.size(-1))
    nothing = torch.zeros([0], dtype=factors.dtype)
    p, lower, upper = nothing, nothing, nothing
    if unpack_pivots:
        p = torch.zeros(factors.size()[:-1] + [rows], dtype=factors.dtype)
        p = torch.scatter(p, -2, rows_of(pivots, rows).unsqueeze(-2), 1)
    if data:
        lower = (torch.tril(torch.narrow(factors, -1, 0, least), -1) + torch.eye(rows, least, dtype=factors.dtype)).contiguous()
        upper = torch.triu(torch.narrow(factors, -2, 0, least)).contiguous()
    return p, lower, upper


def linalg_lu(x, pivot: bool):
    factors, pivots, info = torch.linalg_lu_factor_ex(x, pivot=pivot, check_errors=False)
    return lu_unpack(factors, pivots, True, True)


def solve_left(factors, pivots, b, adjoint: bool):
    rows = rows_of(pivots, factors.size(-1)).unsqueeze(-1)
    if adjoint:
        turned = torch.adjoint(factors)
        b = torch.linalg_solve_triangular(turned, b, upper=False, left=True, unitriangular=False)
        b = torch.linalg_solve_triangular(turned, b, upper=True, left=True, unitriangular=True)
        both = torch.broadcast_tensors([torch.argsort(rows, -2), b])
        return columns(torch.gather(both[1], -2, both[0]))
    both = torch.broadcast_tensors([rows, b])
    b = torch.linalg_solve_triangular(factors, torch.gather(both[1], -2, both[0]), upper=False, left=True, unitriangular=True)
    return torch.linalg_solve_triangular(factors, b, upper=True, left=True, unitriangular=False)


def solve_lu(factors, pivots, b, left: bool, adjoint: bool):
    return solve_left(factors, pivots, b, adjoint) if left else torch.adjoint(solve_left(factors, pivots, torch.adjoint(b), not adjoint))


def require_compatible_sides(name: str, x, b, left: bool):
    assert x.dtype == b.dtype, "{}: Expected A and B to have the same dtype".format(name)
    assert x.size(-1) == b.size(-2 if left else -1), "{}: Incompatible shapes of A and B for the equation {} ({}x{} and {}x{})".format(name, "AX = B" if left else "XA = B", x.size(-2), x.size(-1), b.size(-2), b.size(-1))


def linalg_lu_solve(factors, pivots, b, left: bool, adjoint: bool):
    require_square("torch.linalg.lu_solve", factors)
    assert pivots.dtype == torch.int32, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"
    require_compatible_sides("linalg.lu_solve", factors, b, left)
    return solve_lu(to_float64(factors), pivots, to_float64(b), left, adjoint).to(b.dtype)


def lu_solve(b, factors, pivots):
    return linalg_lu_solve(factors, pivots, b, True, False)


def require_solved(name: str, info):
    if not is_all_zero(info):
        where, at = first_failed_matrix(info)
        assert False, "torch.{}: {}The solver failed because the input matrix is singular.".format(name, where)


def factors_transpose(x):
    """Returns whether PyTorch factors the transpose of a matrix. The formulas of its gradients know that."""
    return x.is_contiguous() and not torch.is_complex(x)


def lu_factors(x, turned: bool):
    return torch.linalg_lu_factor_ex(to_float64(torch.transpose(x, -2, -1) if turned else x), pivot=True, check_errors=False)


def _linalg_solve_ex(x, b, left: bool, check_errors: bool):
    require_square("linalg.solve", x)
    vector = b.dim() == 1 or (x.dim() - 1 == b.dim() and b.size() == x.size()[:-1])
    right = b.unsqueeze(-1) if vector else b
    assert left or not vector, "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
    require_compatible_sides("linalg.solve", x, right, left)
    turned = factors_transpose(x)
    factors, pivots, info = lu_factors(x, turned)
    if check_errors:
        require_solved("linalg.solve_ex", info)
    out = solve_lu(factors, pivots, to_float64(right), left, turned)
    out = columns(out.squeeze(-1)) if vector else out
    return out.to(x.dtype), factors.to(x.dtype), pivots, info


def linalg_solve_ex(x, b, left: bool, check_errors: bool):
    out, factors, pivots, info = _linalg_solve_ex(x, b, left, check_errors)
    return out, info


def linalg_solve(x, b, left: bool):
    out, factors, pivots, info = _linalg_solve_ex(x, b, left, False)
    require_solved("linalg.solve", info)
    return out


def require_inverse(name: str, info):
    if not is_all_zero(info):
        where, at = first_failed_matrix(info)
        assert False, "{}: {}The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular.".format(name, where, at)


def inverse_and_info(x):
    require_square("linalg.inv", x)
    factors, pivots, info = torch.linalg_lu_factor_ex(to_float64(x), pivot=True, check_errors=False)
    return solve_left(factors, pivots, identity(factors, x.size(-1), x.size(-1)), False).to(x.dtype), info


def linalg_inv_ex(x, check_errors: bool):
    out, info = inverse_and_info(x)
    if check_errors:
        require_inverse("linalg.inv_ex", info)
    return out, info


def linalg_inv(x):
    out, info = inverse_and_info(x)
    require_inverse("linalg.inv", info)
    return out


def inverse(x):
    return linalg_inv(x)


def sign_of(pivots):
    """Returns the sign of the permutation that the row swaps make."""
    swaps = torch.sum(torch.ne(pivots, torch.arange(1, pivots.size(-1) + 1)), [-1])
    return 1 - 2 * torch.remainder(swaps, 2)


def lu_factors_of_square(name: str, x):
    require_square(name, x)
    factors, pivots, info = lu_factors(x, factors_transpose(x))
    return factors, pivots


def product_of_last_dim(x):
    """Norms the last dimension."""
    return torch.select(torch.cumprod(x, -1), -1, -1) if x.size(-1) > 0 else torch.ones(x.size()[:-1], dtype=x.dtype)


def _linalg_det(x):
    factors, pivots = lu_factors_of_square("linalg.det", x)
    return (product_of_last_dim(torch.diagonal(factors, 0, -2, -1)) * sign_of(pivots)).to(x.dtype), factors.to(x.dtype), pivots


def linalg_det(x):
    out, factors, pivots = _linalg_det(x)
    return out


def det(x):
    return linalg_det(x)


def _linalg_slogdet(x):
    factors, pivots = lu_factors_of_square("linalg.slogdet", x)
    diagonal = torch.diagonal(factors, 0, -2, -1)
    logs = torch.sum(torch.log(torch.abs(diagonal)), [-1])
    sign = product_of_last_dim(torch.sgn(diagonal)) * sign_of(pivots)
    return sign.to(x.dtype), logs.to(torch.abs(x).dtype), factors.to(x.dtype), pivots


def linalg_slogdet(x):
    sign, logs, factors, pivots = _linalg_slogdet(x)
    return sign, logs


def slogdet(x):
    return linalg_slogdet(x)


def logdet(x):
    require_square("logdet", x)
    sign, logs = linalg_slogdet(x)
    if torch.is_complex(x):
        return torch.log(sign) + logs
    return torch.where(sign == -1, float("nan"), logs)


# ---- Cholesky, triangles


def factor_cholesky(name: str, x, upper: bool):
    require_square(name, x)
    out, info = torch.linalg_cholesky_ex(x, upper=upper, check_errors=False)
    if not is_all_zero(info):
        where, at = first_failed_matrix(info)
        assert False, "{}: {}The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not positive-definite).".format(name, where, at)
    return out


def linalg_cholesky(x, upper: bool):
    return factor_cholesky("linalg.cholesky", x, upper)


def cholesky(x, upper: bool):
    return factor_cholesky("cholesky", x, upper)


def cholesky_solve(b, factor, upper: bool):
    assert b.dim() >= 2, "b should have at least 2 dimensions, but has {} dimensions instead".format(b.dim())
    assert factor.dim() >= 2, "u should have at least 2 dimensions, but has {} dimensions instead".format(factor.dim())
    require_square("cholesky_solve", factor)
    require_compatible_sides("cholesky_solve", factor, b, True)
    one = torch.adjoint(to_float64(factor)) if upper else to_float64(factor)
    y = torch.linalg_solve_triangular(one, to_float64(b), upper=False, left=True, unitriangular=False)
    return torch.linalg_solve_triangular(torch.adjoint(one), y, upper=True, left=True, unitriangular=False).to(b.dtype)


def cholesky_inverse(factor, upper: bool):
    require_square("cholesky_inverse", factor)
    return cholesky_solve(identity(factor, factor.size(-1), factor.size(-1)), factor, upper)


def triangular_solve(b, x, upper: bool, transpose: bool, unitriangular: bool):
    require_square("triangular_solve", x)
    turned = torch.transpose(x, -2, -1) if transpose else x
    out = torch.linalg_solve_triangular(turned, b, upper=upper != transpose, left=True, unitriangular=unitriangular)
    return out, columns(x.expand(out.size()[:-2] + x.size()[-2:]))


# ---- QR


def linalg_qr(x, mode: str):
    assert mode == "reduced" or mode == "complete" or mode == "r", "qr received unrecognized mode '{}' but expected one of 'reduced' (default), 'r', or 'complete'".format(mode)
    require_matrices("linalg.qr", x)
    rows, least = x.size(-2), min(x.size(-2), x.size(-1))
    factors, scales = torch.geqrf(to_float64(x))
    r = columns(torch.triu(factors if mode == "complete" else torch.narrow(factors, -2, 0, least))).to(x.dtype)
    if mode == "r":
        return torch.zeros([0], dtype=x.dtype), r
    one = identity(factors, rows, rows if mode == "complete" else least)
    return torch.ormqr(torch.narrow(factors, -1, 0, least), scales, one, True, False).to(x.dtype), r


def qr(x, some: bool):
    return linalg_qr(x, "reduced" if some else "complete")


def linalg_householder_product(x, scales):
    assert x.dim() >= 2, "torch.linalg.householder_product: input must have at least 2 dimensions."
    assert x.size(-2) >= x.size(-1), "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
    assert x.size(-1) >= scales.size(-1), "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
    return torch.ormqr(x, scales, identity(x, x.size(-2), x.size(-1)), True, False)


def orgqr(x, scales):
    return linalg_householder_product(x, scales)


# ---- Eigenvalues and singular values


def linalg_eigh(x, side: str):
    return torch._linalg_eigh(x, side, True)


def linalg_eigvalsh(x, side: str):
    values, vectors = torch._linalg_eigh(x, side, False)
    return values


def _linalg_eigvals(x):
    return torch.linalg_eigvals(x)


def linalg_ldl_factor(x, hermitian: bool):
    factors, pivots, info = torch.linalg_ldl_factor_ex(x, hermitian=hermitian, check_errors=True)
    return factors, pivots


def linalg_svd(x, full: bool, driver: Optional[str]):
    return torch._linalg_svd(x, full, True, driver=driver)


def linalg_svdvals(x, driver: Optional[str]):
    u, values, v = torch._linalg_svd(x, False, False, driver=driver)
    return values


def svd(x, some: bool, compute_uv: bool):
    u, values, v = torch._linalg_svd(x, not some, compute_uv, driver=None)
    if compute_uv:
        return u, values, torch.adjoint(v)
    batch = x.size()[:-2]
    return torch.zeros(batch + [x.size(-2), x.size(-2)], dtype=x.dtype), values, torch.zeros(batch + [x.size(-1), x.size(-1)], dtype=x.dtype)


def nuclear_norm(x, keepdim: bool):
    return singular_norm(x, "nuc", [-2, -1], keepdim)


def nuclear_norm__dim(x, dim: List[int], keepdim: bool):
    return singular_norm(x, "nuc", dim, keepdim)


def rank_tolerance(x, values, atol: Optional[Tensor], rtol: Optional[Tensor]):
    """Returns the limit up to which singular values of x count as 0: max(atol, rtol * the largest)."""
    eps = 2.220446049250313e-16 if x.dtype == torch.float64 or x.dtype == torch.complex128 else 1.1920928955078125e-07
    default = torch.full([], eps * max(x.size(-2), x.size(-1)), dtype=torch.float64)
    least = torch.zeros([], dtype=torch.float64) if atol is None else atol.to(torch.float64)
    part = torch.where(least > 0, 0.0, default) if rtol is None else rtol.to(torch.float64)
    return torch.maximum(least, part * torch.amax(values, [-1])).unsqueeze(-1)


def optional_tensor(x: Optional[float]):
    out: Optional[Tensor] = None
    if x is not None:
        out = torch.full([], x, dtype=torch.float64)
    return out


def linalg_pinv__atol_rtol_tensor(x, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool):
    assert x.dim() >= 2 and (x.dtype == torch.float32 or x.dtype == torch.float64 or torch.is_complex(x)), "linalg.pinv({}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types".format(x.size())
    if x.numel() == 0:
        return torch.zeros(x.size()[:-2] + [x.size(-1), x.size(-2)], dtype=x.dtype)
    if hermitian:
        values, u = torch._linalg_eigh(to_float64(x), "L", True)
        sizes, v = torch.abs(values), u
    else:
        u, values, rows = torch._linalg_svd(to_float64(x), False, True, driver=None)
        sizes, v = values, torch.adjoint(rows)
    inverted = torch.where(sizes > rank_tolerance(x, sizes, atol, rtol), 1.0 / values, 0.0)
    return torch.matmul(v * inverted.unsqueeze(-2), torch.adjoint(u)).to(x.dtype)


def linalg_pinv__atol_rtol_float(x, atol: Optional[float], rtol: Optional[float], hermitian: bool):
    return linalg_pinv__atol_rtol_tensor(x, optional_tensor(atol), optional_tensor(rtol), hermitian)


def linalg_pinv__rcond_tensor(x, rcond, hermitian: bool):
    return linalg_pinv__atol_rtol_tensor(x, torch.zeros_like(rcond), rcond, hermitian)


def linalg_pinv(x, rcond: float, hermitian: bool):
    return linalg_pinv__atol_rtol_float(x, 0.0, rcond, hermitian)


def pinverse(x, rcond: float):
    return linalg_pinv(x, rcond, False)


def linalg_matrix_rank__atol_rtol_tensor(x, atol: Optional[Tensor], rtol: Optional[Tensor], hermitian: bool):
    assert x.dim() >= 2, "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
    if x.numel() == 0:
        return torch.zeros(x.size()[:-2], dtype=torch.int64)
    values = torch.abs(linalg_eigvalsh(to_float64(x), "L")) if hermitian else linalg_svdvals(to_float64(x), None)
    return torch.sum(values > rank_tolerance(x, values, atol, rtol), [-1])


def linalg_matrix_rank__atol_rtol_float(x, atol: Optional[float], rtol: Optional[float], hermitian: bool):
    return linalg_matrix_rank__atol_rtol_tensor(x, optional_tensor(atol), optional_tensor(rtol), hermitian)


def linalg_matrix_rank__tol_tensor(x, tol, hermitian: bool):
    return linalg_matrix_rank__atol_rtol_tensor(x, tol, torch.zeros_like(tol), hermitian)


def linalg_matrix_rank(x, tol: float, hermitian: bool):
    return linalg_matrix_rank__atol_rtol_float(x, tol, 0.0, hermitian)


def linalg_cond(x, p: Optional[number]):
    power = 2.0 if p is None else float(p)
    if abs(power) == 2:
        values = linalg_svdvals(x, None)
        first, last = torch.select(values, -1, 0), torch.select(values, -1, -1)
        return first / last if power > 0 else last / first
    out, info = inverse_and_info(x)
    out = torch.masked_fill(out, torch.ne(info, 0).unsqueeze(-1).unsqueeze(-1), float("inf"))
    return linalg_matrix_norm(x, power, [-2, -1], False, None) * linalg_matrix_norm(out, power, [-2, -1], False, None)


def linalg_cond__p_str(x, p: str):
    out, info = inverse_and_info(x)
    singular = torch.ne(info, 0)
    if p == "nuc":
        out = torch.masked_fill(out, singular.unsqueeze(-1).unsqueeze(-1), 0)
        norms = linalg_matrix_norm__str_ord(x, p, [-2, -1], False, None) * linalg_matrix_norm__str_ord(out, p, [-2, -1], False, None)
        return torch.masked_fill(norms, singular, float("inf"))
    out = torch.masked_fill(out, singular.unsqueeze(-1).unsqueeze(-1), float("inf"))
    return linalg_matrix_norm__str_ord(x, p, [-2, -1], False, None) * linalg_matrix_norm__str_ord(out, p, [-2, -1], False, None)


# ---- Operators made of these


def linalg_matrix_power(x, n: int):
    require_square("linalg.matrix_power", x)
    if n == 0:
        return identity(x, x.size(-1), x.size(-1)).contiguous()
    power = linalg_inv(x) if n < 0 else x.clone()
    left, out = abs(n), power
    first = True
    while left > 0:
        if left % 2 == 1:
            out = power if first else torch.matmul(out, power)
            first = False
        left = left // 2
        if left > 0:
            power = torch.matmul(power, power)
    return out


def matrix_power(x, n: int):
    return linalg_matrix_power(x, n)


def linalg_matrix_exp(x):
    """Taylor's series of x / 2^k, whose norm is at most a half, squared k times."""
    assert x.dim() >= 2 and x.size(-1) == x.size(-2), "linalg.matrix_exp: A must be batches of square matrices, but they are {}".format(x.size())
    assert torch.is_floating_point(x) or torch.is_complex(x), "linalg.matrix_exp: Expected a floating point or complex tensor as input"
    if x.numel() == 0:
        return x.clone()
    small = to_float64(x)
    norm = float(torch.amax(torch.sum(torch.abs(small), [-2])))
    halvings = 0
    while norm > 0.5 and norm < 1e300:
        norm = norm / 2
        halvings += 1
    small = small * (0.5 ** halvings)
    one = identity(small, x.size(-1), x.size(-1))
    out = one
    for k in range(18):
        out = one + torch.matmul(small, out) / (18 - k)
    for k in range(halvings):
        out = torch.matmul(out, out)
    return out.to(x.dtype).contiguous()


def matrix_exp(x):
    return linalg_matrix_exp(x)


def product_of(sizes: List[int]):
    out = 1
    for n in sizes:
        out *= n
    return out


def linalg_tensorinv(x, ind: int):
    assert ind > 0, "Expected a strictly positive integer for 'ind'"
    first, last = x.size()[:ind], x.size()[ind:]
    assert product_of(first) == product_of(last), "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {} != {}".format(product_of(last), product_of(first))
    out, info = inverse_and_info(x.reshape([product_of(first), product_of(last)]))
    require_inverse("inv", info)
    return out.reshape(last + first)


def linalg_tensorsolve(x, b, dims: Optional[List[int]]):
    if dims is not None:
        x = torch.movedim(x, dims, [k - len(dims) for k in range(len(dims))])
    shape = x.size()[b.dim():]
    assert product_of(shape) == b.numel() and x.numel() == b.numel() * b.numel(), "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got {} != {}".format(product_of(shape), b.numel())
    return linalg_solve(x.reshape([b.numel(), product_of(shape)]), b.flatten(), True).reshape(shape)


def linalg_lstsq(x, b, rcond: Optional[float], driver: Optional[str]):
    require_matrices("torch.linalg.lstsq", x)
    name = "gelsy" if driver is None else driver
    assert name == "gels" or name == "gelsy" or name == "gelsd" or name == "gelss", "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
    assert x.dtype == b.dtype, "torch.linalg.lstsq: Expected input and other to have the same dtype"
    vector = x.dim() - 1 == b.dim() and b.size() == x.size()[:-1]
    right = b.unsqueeze(-1) if vector else b
    assert x.dim() == right.dim() and x.size(-2) == right.size(-2), "torch.linalg.lstsq: input.size(-2) should match other.size({})".format(-1 if vector else -2)
    a = to_float64(x)
    none = torch.zeros([0], dtype=x.dtype)
    real = torch.zeros([0], dtype=torch.abs(none).dtype)
    residuals, values = real, real
    ranks = torch.zeros([0], dtype=torch.int64)
    cut = optional_tensor(rcond)
    if rcond is not None and float(rcond) < 0:
        cut = None
    zero = torch.zeros([], dtype=torch.float64)
    eps = 2.220446049250313e-16 if x.dtype == torch.float64 or x.dtype == torch.complex128 else 1.1920928955078125e-07
    part = torch.full([], eps * max(x.size(-2), x.size(-1)), dtype=torch.float64) if cut is None else cut
    out = torch.matmul(linalg_pinv__atol_rtol_tensor(a, zero, zero if name == "gels" else part, False), to_float64(right)).to(x.dtype)
    if name != "gels":
        ranks = linalg_matrix_rank__atol_rtol_tensor(a, zero, part, False)
    if name == "gelsd" or name == "gelss":
        values = linalg_svdvals(x, None)
    if x.size(-2) > x.size(-1) and name != "gelsy" and bool(torch.all(ranks == x.size(-1))):
        residuals = torch.sum(torch.pow(torch.abs(torch.matmul(a, to_float64(out)) - to_float64(right)), 2), [-2]).to(real.dtype)
    return (out.squeeze(-1) if vector else columns(out)), residuals, ranks, values
