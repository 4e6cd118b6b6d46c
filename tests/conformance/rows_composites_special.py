"""Special functions that the exporter decomposes: Bessel, Airy, normal distribution, gamma, orthogonal polynomials."""
from conformance import *

POINTS = [0.0, -0.0, 0.25, -0.5, 1.0, -1.0, 2.0, 2.5, 4.9, 5.1, 7.9, -8.5, 11.0, -13.0, NAN, INF, -INF]
#: A wider tolerance for functions whose sums lose the last digits of float32 in PyTorch itself.

for name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "i0e", "i1", "i1e", "modified_bessel_i0", "modified_bessel_i1",
             "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
             "erfcx", "ndtr", "log_ndtr", "ndtri", "entr"):
    points = [p for p in POINTS if p == p and abs(p) != INF] if name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1") else POINTS
    row(f"special_{name}", f"torch.special.{name}(x)", x=f64(3, 7, lo=-9, hi=9), also=[{"x": tensor(points, "f64")}, {"x": f64(0)}, {"x": transposed(f64(3, 2))}, {"x": f64(1, lo=0, hi=1)}])
    row(f"special_{name}_f32", f"torch.special.{name}(x), torch.special.{name}(i)", x=f32(17, lo=-4, hi=4), i=i64(5, lo=-1, hi=3), also=[{"i": b8(3)}])
row("special_ndtri_f32_of_probabilities", "torch.special.ndtri(x)", x=tensor([0.0, 0.01, 0.1, 0.2, 0.5, 0.9, 0.99, 1.0, 1.1]))
row("zeta", "(torch.special.zeta(x, q), torch.special.zeta(x, 2.5), torch.special.zeta(3, q))", x=f64(3, 5, lo=1, hi=9), q=f64(5, lo=0.1, hi=6),
    also=[{"x": tensor([[1.0, 0.5, NAN, 2.0, 3.0]], "f64"), "q": tensor([2.0, 2.0, 1.0, 0.0, -2.0], "f64")}])
row("zeta_f32", "torch.special.zeta(x, q), torch.special.zeta(i, q), torch.special.zeta(i, i)", x=f32(7, lo=1, hi=9), q=f32(7, lo=0.1, hi=6), i=i64(7, lo=1, hi=9))
for n in range(5):
    row(f"polygamma_{n}", f"torch.polygamma({n}, x), torch.polygamma({n}, y)", x=f64(3, 5, lo=0.1, hi=9), y=f32(5, lo=0.1, hi=5), also=[{"x": f64(2, lo=-3.9, hi=-3.1)}, {"y": i64(4, lo=1, hi=5)}])
row("polygamma_inplace", "x.polygamma_(1)", x=f64(5, lo=0.1, hi=9), mutates=True)
row("polygamma_inplace_of_ints", "x.polygamma_(1)", x=i64(5), raises="can't be cast")
row("polygamma_of_less_than_0", "torch.polygamma(-1, x)", x=f32(3), raises="does not support negative n")
row("mvlgamma", "(torch.mvlgamma(x, 1), torch.mvlgamma(x, 3), torch.special.multigammaln(i, 2))", x=f64(3, 5, lo=1.1, hi=9), i=i64(4, lo=2, hi=9))
row("mvlgamma_inplace", "x.mvlgamma_(2)", x=f64(4, lo=1.1, hi=9), mutates=True)
GAMMAS = [0.0, 0.5, 1.0, 3.0, 40.0, 250.0, INF, NAN, -1.0]
for name in ("igamma", "igammac"):
    row(name, f"torch.{name}(a, x)", a=f64(5, 1, lo=0.1, hi=9), x=f64(7, lo=0, hi=15), also=[{"a": f64(1, lo=30, hi=40), "x": f64(9, lo=10, hi=60)}, {"a": f64(0), "x": f64(1)}])
    row(f"{name}_edges", f"torch.{name}(a.unsqueeze(1), x)", a=tensor(GAMMAS, "f64"), x=tensor(GAMMAS, "f64"))
    row(f"{name}_f32", f"torch.{name}(a, x)", a=f32(17, lo=0.1, hi=5), x=f32(17, lo=0, hi=9))
row("gammainc", "torch.special.gammainc(a, x), torch.special.gammaincc(a, x)", a=f64(5, lo=0.1, hi=9), x=f64(5, lo=0, hi=9))

DEGREES = tensor([-1, 0, 1, 2, 3, 5, 6, 7, 8, 9, 12], "i64")
for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t",
             "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
             "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
    row(f"special_{name}", f"(torch.special.{name}(x, n), torch.special.{name}(x, 3), torch.special.{name}(0.75, n))", x=f64(5, 1), n=DEGREES,
        also=[{"x": tensor([[0.0], [1.0], [-1.0], [0.5], [1.5], [-2.0]], "f64")}, {"x": f64(0, 1)}, {"x": f64(1), "n": f64(3, lo=-2, hi=9)}])
    row(f"special_{name}_f32", f"torch.special.{name}(x, n)", x=f32(7), n=i64(7, lo=0, hi=5), also=[{"x": i64(7), "n": f32(7, lo=0, hi=5)}])
