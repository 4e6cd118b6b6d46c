"""Matrix factorizations and solvers. Where signs and order are arbitrary, the rows compare the product of the factors."""
from conformance import *

NUMBERS = ("f32", "f64", "c64", "c128")
SHAPES = {"square": (4, 4), "tall": (5, 3), "wide": (3, 5), "one": (1, 1), "batch": (2, 3, 4, 3), "no_rows": (0, 3), "no_batch": (0, 3, 3)}
LAYOUTS = {"": lambda x: x, "_strided": noncontig, "_turned": transposed}
LOOSE = dict(rtol=1e-4, atol=2e-5, why="what is divided by small pivots is as far off in PyTorch: 3.6 times the default was measured, of determinants")
POWERS = dict(rtol=1e-3, atol=1e-3, why="inverses and powers multiply the errors of factors: half of float32's default was measured")


def loose(dtype):
    return LOOSE if dtype in ("f32", "c64") else {}


for dtype in NUMBERS:
    for shape, sizes in SHAPES.items():
        for layout, lay in LAYOUTS.items() if shape in ("tall", "wide") else [("", LAYOUTS[""])]:
            name, x = f"{shape}_{dtype}{layout}", lay(random(dtype, *sizes))
            row(f"linalg_lu_{name}", """
                a, b, c = torch.linalg.lu_factor_ex(x)
                p, l, u = torch.linalg.lu(x)
                return a, b, c, a.stride(), p, l, u, l.stride(), u.stride(), torch.lu_unpack(a, b, unpack_data=False)[0]""", x=x, **loose(dtype))
            row(f"linalg_qr_{name}", """
                q, r = torch.linalg.qr(x)
                qc, rc = torch.linalg.qr(x, 'complete')
                return q, r, torch.linalg.qr(x, 'r'), qc @ rc, rc, q.stride(), r.stride(), qc.stride(), rc.stride(), torch.geqrf(x)""", x=x, **loose(dtype))
            row(f"linalg_svd_{name}", """
                u, s, v = torch.linalg.svd(x)
                a, b, c = torch.linalg.svd(x, full_matrices=False)
                return s, b, (a * b.unsqueeze(-2)) @ c, u @ u.mH, v @ v.mH, a.mH @ a, c @ c.mH, torch.linalg.svdvals(x), u.stride(), v.stride(), a.stride(), c.stride(), torch.svd(x)[1]""", x=x, **loose(dtype))
    square, right = random(dtype, 2, 4, 4), random(dtype, 2, 4, 3)
    row(f"linalg_solve_{dtype}", """
        y = torch.linalg.solve(x, b)
        z = torch.linalg.solve(x, b.mT, left=False)
        return y, y.stride(), z, z.stride(), torch.linalg.solve_ex(x, b[0]), torch.linalg.solve(x, b[..., 0]), torch.linalg.solve(x[0], b[0, :, 1])""", x=square, b=right, **loose(dtype))
    row(f"linalg_inv_{dtype}", "torch.linalg.inv(x), torch.linalg.inv_ex(x), torch.inverse(x[0]), torch.linalg.inv(x).stride()", x=square, **loose(dtype))
    row(f"linalg_det_{dtype}", "torch.linalg.det(x), torch.det(x[0]), torch.linalg.slogdet(x), torch.slogdet(x[1]), torch.logdet(x @ x.mH)", x=random(dtype, 5, 4, 4), also=[{"x": random(dtype, 2, 0, 0)}, {"x": random(dtype, 2, 1, 1)}], **loose(dtype))
    row(f"linalg_lu_solve_{dtype}", """
        a, p = torch.linalg.lu_factor(x)
        return (torch.linalg.lu_solve(a, p, b), torch.linalg.lu_solve(a, p, b, adjoint=True), torch.linalg.lu_solve(a, p, b.mT, left=False), torch.linalg.lu_solve(a, p, b.mT, left=False, adjoint=True),
                torch.lu_solve(b[0], a, p), torch.linalg.lu_solve(a, p, b, adjoint=True).stride())""", x=square, b=right, **loose(dtype))
    row(f"linalg_cholesky_{dtype}", """
        a = x @ x.mH + 2 * torch.eye(4, dtype=x.dtype)
        l, u = torch.linalg.cholesky(a), torch.linalg.cholesky(a, upper=True)
        return (l, u, l.stride(), u.stride(), torch.linalg.cholesky_ex(torch.tril(a)), torch.linalg.cholesky_ex(torch.triu(a), upper=True), torch.cholesky(a), torch.cholesky_solve(b, l),
                torch.cholesky_solve(b, u, upper=True), torch.cholesky_inverse(l), torch.cholesky_inverse(u, upper=True))""", x=square, b=right, **loose(dtype))
    row(f"linalg_triangular_{dtype}", """
        y = torch.linalg.solve_triangular(x, b, upper=True)
        z = torch.linalg.solve_triangular(x, b.mT, upper=True, left=False)
        return (y, z, y.stride(), z.stride(), torch.linalg.solve_triangular(x, b, upper=False), torch.linalg.solve_triangular(x, b.mT, upper=False, left=False), torch.linalg.solve_triangular(x[0], b, upper=True, unitriangular=True),
                torch.linalg.solve_triangular(x, b[1], upper=False, unitriangular=True), torch.triangular_solve(b, x), torch.triangular_solve(b, x, upper=False, transpose=True))""", x=square, b=right, **loose(dtype))
    row(f"linalg_householder_{dtype}", """
        a, t = torch.geqrf(x)
        q = torch.linalg.householder_product(a, t)
        return (q, q.stride(), torch.orgqr(a, t), torch.ormqr(a, t, b), torch.ormqr(a, t, b, transpose=True), torch.ormqr(a, t, b.mT, left=False), torch.ormqr(a, t, b.mT, left=False, transpose=True),
                torch.ormqr(a, t, b.mT, left=False).stride())""", x=random(dtype, 2, 5, 3), b=random(dtype, 2, 5, 4), **loose(dtype))
    row(f"linalg_eig_{dtype}", """
        l, v = torch.linalg.eig(x)
        m = torch.linalg.eigvals(x)
        return (torch.sort(l.real)[0], torch.sort(l.imag)[0], torch.sort(l.abs())[0], torch.sort(m.real)[0], torch.sort(m.imag)[0], torch.linalg.solve(v, v * l.unsqueeze(-2), left=False), v.abs().square().sum(-2),
                v.stride(), l.stride())""", x=random(dtype, 2, 6, 6), also=[{"x": random(dtype, 1, 1)}, {"x": transposed(random(dtype, 5, 5))}, {"x": random(dtype, 2, 0, 0)}, {"x": random(dtype, 0, 3, 3)}], **loose(dtype))
    row(f"linalg_ldl_{dtype}", """
        a, b, c = torch.linalg.ldl_factor_ex(x + x.mT)
        d, e = torch.linalg.ldl_factor(x + x.mH, hermitian=True)
        return (a, b, c, a.stride(), d, e, torch.linalg.ldl_solve(a, b, y), torch.linalg.ldl_solve(d, e, y, hermitian=True), torch.linalg.ldl_solve(a[0], b[0], y), torch.linalg.ldl_solve(d[:1], e[:1], y[1], hermitian=True).stride())""",
        x=random(dtype, 4, 7, 7), y=random(dtype, 4, 7, 3), also=[{"x": random(dtype, 2, 1, 1), "y": random(dtype, 2, 1, 2)}, {"x": random(dtype, 2, 30, 30), "y": random(dtype, 2, 30, 1)}], **loose(dtype))
    row(f"linalg_eigh_{dtype}", """
        l, v = torch.linalg.eigh(x)
        m, w = torch.linalg.eigh(x, 'U')
        return l, (v * l.unsqueeze(-2)) @ v.mH, v.mH @ v, m, (w * m.unsqueeze(-2)) @ w.mH, torch.linalg.eigvalsh(x), v.stride()""", x=random(dtype, 2, 6, 6), also=[{"x": random(dtype, 1, 1)}, {"x": random(dtype, 2, 0, 0)}], **loose(dtype))
    row(f"linalg_pinv_{dtype}", "torch.linalg.pinv(x), torch.pinverse(x), torch.linalg.pinv(x @ x.mH, hermitian=True, rtol=1e-3), torch.linalg.pinv(x, atol=0.5, rtol=0.1), torch.linalg.pinv(x).stride()", x=random(dtype, 2, 3, 5), **POWERS)
    row(f"linalg_lstsq_{dtype}", "torch.linalg.lstsq(x, b)[0], torch.linalg.lstsq(x, b)[2], torch.linalg.lstsq(x, b, driver='gels')[:2], torch.linalg.lstsq(x, b, driver='gelsd')", x=random(dtype, 2, 5, 3), b=random(dtype, 2, 5, 4), also=[{"x": random(dtype, 2, 3, 5), "b": random(dtype, 2, 3, 2)}], **POWERS)
    row(f"linalg_powers_{dtype}", "torch.linalg.matrix_power(x, 5), torch.linalg.matrix_power(x, 0), torch.linalg.matrix_power(x, -2), torch.linalg.matrix_exp(x), torch.matrix_exp(x * 4)", x=random(dtype, 2, 3, 3), **POWERS)
    row(f"linalg_cond_{dtype}", "torch.linalg.cond(x), torch.linalg.cond(x, -2), torch.linalg.cond(x, 1), torch.linalg.cond(x, 'fro'), torch.linalg.cond(x, 'nuc'), torch.linalg.matrix_rank(x), torch.linalg.matrix_rank(x, hermitian=True), torch.linalg.matrix_rank(x, atol=1.0, rtol=0.1)", x=random(dtype, 2, 3, 3), **POWERS)
    row(f"linalg_norms_{dtype}", "torch.linalg.matrix_norm(x, 2), torch.linalg.matrix_norm(x, -2, dim=[0, 1], keepdim=True), torch.linalg.matrix_norm(x, 'nuc'), torch.nuclear_norm(x[0])", x=random(dtype, 2, 3, 4), **loose(dtype))
    row(f"linalg_tensors_{dtype}", "torch.linalg.tensorinv(x, ind=2), torch.linalg.tensorsolve(x, b), torch.linalg.tensorsolve(x.permute(2, 0, 1), b, dims=[0])", x=random(dtype, 2, 3, 6), b=random(dtype, 2, 3), **POWERS)

LARGE = random("f64", 40, 30)
row("linalg_large", """
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    l, w = torch.linalg.eigh(x.mT @ x)
    return s, (u * s) @ v, u.mT @ u, l, (w * l) @ w.mT, torch.linalg.qr(x)[1], torch.linalg.solve(x.mT @ x, x[:30])""", x=LARGE)
row("linalg_svd_of_less_rank", """
    u, s, v = torch.linalg.svd(x @ y)
    return s[:2], (u[:, :5] * s) @ v, u.mT @ u, v @ v.mT, torch.linalg.matrix_rank(x @ y), torch.linalg.svd(torch.zeros_like(x))[1]""", x=f64(6, 2), y=f64(2, 5))
row("linalg_svd_scales", "torch.linalg.svdvals(x), torch.linalg.svdvals(x * 1e200), torch.linalg.svdvals(x * 1e-200) * 1e200", x=f64(4, 3))
for dtype in "f32", "c64":
    row(f"linalg_det_factors_{dtype}", """
        a, b, c, d = torch._linalg_solve_ex(x, y), torch._linalg_solve_ex(x.mT, y), torch._linalg_solve_ex(x, y, left=False), torch._linalg_solve_ex(x.mT, y[:, 0])
        return torch._linalg_det(x), torch._linalg_det(x.mT), torch._linalg_slogdet(x), torch._linalg_slogdet(x.mT), a, b, c, d""",
        x=random(dtype, 3, 4, 4), y=random(dtype, 3, 4, 4), **loose(dtype))
row("linalg_lu_singular", "torch.linalg.lu_factor_ex(x), torch.linalg.det(x), torch.linalg.slogdet(x), torch.linalg.inv_ex(x)[1], torch.linalg.cond(x, 1)", x=tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]]))
row("linalg_pivots_as_large", "torch.linalg.lu_factor_ex(x)", x=tensor([[1.0, 2.0], [-1.0, 3.0]]), also=[{"x": tensor([[0.0, 2.0], [0.0, 3.0]])}])
row("linalg_exp_of_large_norm", "torch.linalg.matrix_exp(x)", x=tensor([[0.0, 30.0], [-30.0, 0.0]], "f64"), also=[{"x": tensor([[-50.0, 1.0], [0.0, -40.0]], "f64")}])

BAD = tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]])
for name, body, message in [
    ("inv", "torch.linalg.inv(x)", "linalg.inv: (Batch element 1): The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."),
    ("inv_one", "torch.linalg.inv(x[1])", "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."),
    ("inv_ex", "torch.linalg.inv_ex(x, check_errors=True)", "linalg.inv_ex: (Batch element 1): The diagonal element 2 is zero"),
    ("solve", "torch.linalg.solve(x, x)", "torch.linalg.solve: (Batch element 1): The solver failed because the input matrix is singular."),
    ("solve_ex", "torch.linalg.solve_ex(x[1], x[0], check_errors=True)", "torch.linalg.solve_ex: The solver failed because the input matrix is singular."),
    ("lu_factor", "torch.linalg.lu_factor(x)", "torch.linalg.lu_factor: (Batch element 1): U[2,2] is zero and using it on lu_solve would result in a division by zero."),
    ("lu_factor_ex", "torch.linalg.lu_factor_ex(x, check_errors=True)", "torch.linalg.lu_factor_ex: (Batch element 1): U[2,2] is zero"),
    ("cholesky", "torch.linalg.cholesky(x)", "linalg.cholesky: (Batch element 1): The factorization could not be completed because the input is not positive-definite (the leading minor of order 2 is not positive-definite)."),
    ("cholesky_ex", "torch.linalg.cholesky_ex(-x[0], check_errors=True)", "linalg.cholesky_ex: The factorization could not be completed because the input is not positive-definite (the leading minor of order 1 is not positive-definite)."),
    ("lu_without_pivots", "torch.linalg.lu_factor(x, pivot=False)", "LU without pivoting is not implemented on the CPU"),
    ("inv_of_oblong", "torch.linalg.inv(x[:, :1])", "linalg.inv: A must be batches of square matrices, but they are 1 by 2 matrices"),
    ("inv_of_vector", "torch.linalg.inv(x[0, 0])", "linalg.inv: The input tensor A must have at least 2 dimensions."),
    ("det_of_oblong", "torch.linalg.det(x[:, :1])", "linalg.det: A must be batches of square matrices, but they are 1 by 2 matrices"),
    ("solve_shapes", "torch.linalg.solve(x, torch.ones([3, 4]))", "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x4)"),
    ("triangular_shapes", "torch.linalg.solve_triangular(x, torch.ones([3, 4]), upper=True)", "linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x4)"),
    ("qr_mode", "torch.linalg.qr(x, 'x')", "qr received unrecognized mode 'x' but expected one of 'reduced' (default), 'r', or 'complete'"),
    ("eigh_side", "torch.linalg.eigh(x, 'X')", "Expected UPLO argument to be 'L' or 'U', but got X"),
    ("svd_nan", "torch.linalg.svd(x * float('nan'))", "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."),
    ("half", "torch.linalg.inv(x.half())", "linalg.inv: "),
    ("cholesky_of_half", "torch.linalg.cholesky_ex(x.half())", "\"cholesky_cpu\" not implemented for 'Half'"),
    ("svd_of_ints", "torch.linalg.svd(x.int())", "linalg.svd: Expected a floating point or complex tensor as input. Got Int"),
    ("pivots_dtype", "torch.linalg.lu_solve(x, torch.ones([2, 2], dtype=torch.int64), x)", "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"),
]:
    row(f"linalg_refuses_{name}", body, x=BAD, raises=message)
row("linalg_ldl_of_hollow_matrices", "torch.linalg.ldl_factor_ex(x), torch.linalg.ldl_factor_ex(x[:1, :1])", x=tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]), also=[{"x": tensor([[0.0, 0.0], [0.0, 0.0]])}])
row("linalg_eig_of_nan", "torch.linalg.eig(x)", x=tensor([[1.0, NAN], [0.0, 1.0]]), raises="should not contain infs or NaNs")
row("linalg_eig_of_what_is_turned", """
    l, v = torch.linalg.eig(x)
    return torch.sort(l.real)[0], torch.sort(l.imag)[0], (x.to(v.dtype) @ v - v * l).abs().max() < 1e-5""", x=tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), also=[{"x": tensor([[0.0, -1.0], [1.0, 0.0]])}, {"x": tensor([[2.0, 0.0], [0.0, 2.0]])}, {"x": tensor([[0.0, 0.0], [0.0, 0.0]])}])
