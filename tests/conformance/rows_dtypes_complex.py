"""Complex numbers: pointwise operators, sums, products, and the views of real and imaginary parts."""
from conformance import *


def each(name, body, **inputs):
    """Adds a row with complex64 and complex128. Inputs are functions of the dtype, or the same for both."""
    options = {k: inputs.pop(k) for k in ("rtol", "atol", "raises") if k in inputs}
    cells = [{k: v(d) if callable(v) else v for k, v in inputs.items()} for d in COMPLEX]
    row(f"complex_{name}", body, **options, **cells[0], also=[{k: v for k, v in cells[1].items() if callable(inputs[k])}])


def of_shape(*shape, **limits):
    return lambda d: random(d, *shape, **limits)


def real_of(*shape, **limits):
    return lambda d: random({"c64": "f32", "c128": "f64"}[d], *shape, **limits)


UNARY = "neg abs angle exp log sqrt reciprocal sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh square rsqrt exp2 expm1 log2 log10 log1p sgn sigmoid"
each("unary", "(" + ", ".join(f"torch.{f}(x)" for f in UNARY.split()) + ")", x=of_shape(3, 17))
each("arithmetic", "(x + y, x - y, x * y, x / y, torch.pow(x, y), x ** 2, x ** 0.5, x ** -1, torch.add(x, y, alpha=2.5), torch.addcmul(x, y, y, value=0.5), torch.addcdiv(x, y, y))",
     x=of_shape(3, 7), y=of_shape(3, 7))
each("with_real", "(x + y, y * x, x / y, y - x, torch.pow(x, y), x + 2, 1.5 * x, 1 / x, x * n, torch.where(y > 0, x, y))", x=of_shape(3, 7), y=real_of(3, 7), n=3)
each("broadcast_and_strides", "(x + y, (x * y).stride(), x.t() * 2, torch.exp(x[:, ::2]), x[1] - y)", x=of_shape(4, 6), y=of_shape(1, 6))
each("tests", "(x == y, x != y, torch.isnan(x), torch.isinf(x), torch.isfinite(x), torch.logical_not(x), x.to(torch.bool), torch.logical_and(x, y), x.any(), x.all(), torch.count_nonzero(x))",
     x=lambda d: tensor([1 + 2j, 0j, complex(NAN, 1), complex(0, INF), 3j], d), y=lambda d: tensor([1 + 2j, 1j, complex(NAN, 1), 0j, 3 + 0j], d))
each("order_is_refused", "x < y", x=of_shape(3), y=of_shape(3), raises="not implemented for")
each("sums", "(x.sum(), x.sum(0), x.sum(1, keepdim=True), x.mean(), x.mean(1), x.prod(), x.prod(0), x.cumsum(1), x.cumprod(0))", x=of_shape(5, 9))
each("long_sum", "(x.sum(), x.t().sum(0), x.mean(1))", x=of_shape(30, 700))
# torch.dot is left out, because the reference BLAS returns 0 for complex numbers.
each("products", "(x @ y, torch.mm(x, y), torch.bmm(x[None], y[None]), x @ y[:, 0], torch.addmm(z, x, y, beta=0.5, alpha=2.0), torch.outer(x[0], y[:, 0]), "
     "torch.mv(x, y[:, 0]), torch.matmul(x[None].expand(2, 3, 5), y))", x=of_shape(3, 5), y=of_shape(5, 4), z=of_shape(3, 4))
each("functions", "(F.silu(x), torch.sinc(x), torch.logaddexp(x, y), torch.lerp(x, y, 0.3), torch.lerp(x, y, y), torch.float_power(x, y), torch.float_power(x, 2), torch.float_power(x, 1j), "
     "torch.isclose(x, y), torch.isclose(x, x + 1e-7), torch.allclose(x, x), torch.allclose(x, y))", x=of_shape(3, 7), y=of_shape(3, 7))
each("functions_at_points", "(torch.sinc(x), torch.logaddexp(x, y), torch.logcumsumexp(x, 0).real, torch.isclose(x, y, equal_nan=True))",
     x=lambda d: tensor([0j, complex(-INF, 1), complex(-INF, 2), 1j, 700 + 1j], d), y=lambda d: tensor([0j, complex(-INF, 1), 1 + 1j, complex(NAN, 1), 701 - 2j], d))
each("spread", "(x.var(), x.var(1), x.std(0, keepdim=True), torch.var_mean(x, 1), torch.std_mean(x), torch.var(x, 0, correction=0), x.t().var(1), torch.var_mean(x[:1], 0))", x=of_shape(5, 9))
each("long", "(x * y, x.abs(), x[::2] * y[1::2], x.to(torch.complex64), x.to(torch.complex128), (x * y).to(torch.complex64))", x=of_shape(700), y=of_shape(700))
row("complex_abs_at_the_ends", "(torch.complex(x, y).abs(), torch.complex(y, x).abs())",
    x=tensor([1e-200, 1e200, 3e-310, 1e154, 0.0, -0.0, INF, NAN, -INF, 3.0], "f64"), y=tensor([2e-200, -1e200, 4e-310, 1.0, 0.0, 5.0, NAN, 1.0, INF, -4.0], "f64"))
each("norms", "(" + ", ".join(f"torch.linalg.vector_norm(x, {p}, dim=1)" for p in ("0", "1", "2", "3.5", "-2", "float('inf')", "float('-inf')")) +
     ", torch.norm(x), torch.linalg.norm(x), torch.frobenius_norm(x, [0, 1]), torch.linalg.matrix_norm(x), torch.linalg.norm(x, 1), F.normalize(x), torch.renorm(x, 2, 0, 1.5), torch.renorm(x, 1, 1, 0.5))", x=of_shape(4, 6))
each("norms_to_real_are_refused", "torch.linalg.vector_norm(x, dtype=torch.float32)", x=of_shape(4), raises="dtype should be complex")
each("logarithms_of_sums", "(torch.logsumexp(x, 1), torch.logsumexp(x, [0, 1]), torch.logcumsumexp(x, 1), torch.logcumsumexp(x, 0))", x=of_shape(5, 9))
each("factors_of_products", "(torch.addmm(z, x, y, beta=0.5 - 1j, alpha=2j), torch.addmm(z, x, y, beta=0, alpha=1j), torch.baddbmm(z[None], x[None], y[None], beta=1j), torch.addbmm(z, x[None], y[None], alpha=1 - 1j), "
     "torch.addmv(z[:, 0], x, y[:, 0], beta=2j, alpha=3), torch.addr(z, x[:, 0], y[0], beta=1j, alpha=2 - 1j))", x=of_shape(3, 5), y=of_shape(5, 4), z=of_shape(3, 4))
each("padded_and_spaced", "(torch.constant_pad_nd(x, [1, 2], 1 - 2j), torch.constant_pad_nd(x, [0, -1, 1, 0], 2j), x.index_fill(1, i, 3j), x.index_fill(0, i, 2), x.trace(), torch.linspace(1 + 1j, -2, 7, dtype=x.dtype), torch.linspace(2j, 5, 1), "
     "torch.linspace(-1, 2, 8, dtype=x.dtype), torch.logspace(0, 1 + 1j, 5, dtype=x.dtype))", x=of_shape(3, 4), i=tensor([2, 0], "i64"))
each("softmax_of_the_real_part", "(torch.softmax(x, 1, dtype=torch.float64), torch.log_softmax(x, 0, dtype=torch.float32))", x=of_shape(3, 4))
row("complex_numbers_do_not_fit_a_padding", "torch.constant_pad_nd(x, [1, 2], 1j)", x=f32(3), raises="without overflow")
row("complex_numbers_do_not_fit_an_index_fill", "x.index_fill(0, i, 1j)", x=f32(3), i=tensor([1], "i64"), raises="without overflow")
row("complex_numbers_do_not_fit_a_product", "torch.addmm(x, x, x, beta=1j)", x=f32(3, 3), raises="without overflow")
each("rms_norm", "(torch.rms_norm(x, [6]), torch.rms_norm(x, [4, 6], w, 0.5), torch.rms_norm(x.transpose(0, 1), [6], w[0]))", x=of_shape(3, 4, 6), w=of_shape(4, 6))
each("parts", "(x.real, x.imag, torch.view_as_real(x), torch.view_as_complex(torch.view_as_real(x)), torch.real(y), x.is_complex(), y.is_complex(), torch.is_complex(x), x.t().imag.stride(), x[1:].real.storage_offset())",
     x=of_shape(3, 4), y=real_of(3))
each("parts_are_views", "x.real.mul_(2)\nx.imag[0] = 7\ntorch.view_as_real(x)[1, 1] = 5\ny = torch.view_as_complex(torch.view_as_real(x))\ny.add_(1)\nreturn x, y", x=of_shape(3, 4))
each("conjugates", "(x.conj().resolve_conj(), torch.conj_physical(x), x.conj() * x, x.mH.resolve_conj() @ x, torch.conj(x).real, x.conj().imag + 0, x.H.resolve_conj())", x=of_shape(3, 4))
each("conjugates_are_marked", """
    y = x[:, 1:].conj()
    z = y.conj()
    w = y.resolve_conj()
    w.mul_(2)
    v = torch.exp(x)
    u = v.conj().t() * 2
    u.add_(1)
    return (x.is_conj(), y.is_conj(), y.t().is_conj(), y.clone().is_conj(), z.is_conj(), w.is_conj(), u.is_conj(), x.mH.is_conj(), y.real.is_conj(), x.is_neg(),
            y.stride(), y.storage_offset(), (y.expand(2, 3, 3) * 1), z + 0, w, u, (y + 1).is_conj(), x.real.conj().is_conj(), torch.conj(x[0]) * y[:, 0].sum())""",
     x=of_shape(3, 4))
each("made_of_parts", "(torch.complex(a, b), torch.polar(a.abs(), b), torch.complex(a[0], b), torch.view_as_complex(torch.stack([a, b], -1)))", a=real_of(3, 4), b=real_of(3, 4))
each("moved", """
    return (x[1], x[:, ::2], x.t(), x.flatten(), x.reshape(2, -1), x.repeat(2, 1), x.flip(0), x.roll(1, 1), torch.cat([x, x], 1), torch.stack([x, x], 2),
            x.expand(2, 3, 4), x.tril(), F.pad(x, [1, 2]), x.diagonal(), x.index_select(1, i), x.take(i), x[:, i], x.nonzero(), x.masked_fill(m, 1), x.contiguous(), x.clone(),
            torch.zeros_like(x), torch.ones_like(x), x.new_zeros(2), x.index_add(1, i, x[:, :2]), x.scatter_add(1, i[None].expand(3, 2), x[:, 2:]))""",
     x=of_shape(3, 4), i=tensor([2, 0], "i64"), m=b8(3, 4))
each("in_place", "x.add_(y).mul_(y)\nx[0] = 2\nx[:, 1] += y[:, 0]\nx.view(-1)[2:4] *= 3\nreturn x.exp_(), x.sum()", x=of_shape(3, 4), y=of_shape(3, 4))
row("complex_conversions", "(x.to(torch.complex64), x.to(torch.complex128), y.to(torch.complex64).to(torch.float32), y.to(torch.complex128))", x=random("c64", 5), y=f32(5),
    also=[{"x": random("c128", 5)}, {"x": f64(5), "y": i64(5)}, {"x": random("f16", 5), "y": random("i8", 5)}])
row("complex_promotion", "(x + y, x * y, torch.result_type(x, y), torch.promote_types(x.dtype, y.dtype), torch.can_cast(x.dtype, y.dtype), torch.cat([x, y]))", x=random("c64", 3), y=f32(3),
    also=[{"y": f64(3)}, {"y": i64(3)}, {"y": random("c128", 3)}, {"y": random("bf16", 3)}, {"x": random("c128", 3)}, {"x": f64(3), "y": random("c64", 3)}])
row("complex_constants", "(x + 2j, x * (1 - 2j), torch.full([2], 3 + 1j, dtype=torch.complex64), (x + 1j) ** 1j, (x + 1j) == 1j, 2j - x, torch.where(m, x + 1j, 2j))",
    x=f32(3), m=b8(3), also=[{"x": f64(3)}, {"x": i64(3)}, {"x": random("c64", 3)}])
each("products_of_infinities", "(x * y, y * x, x.prod(), x.cumprod(0), torch.outer(x, y), 2 * x)",
     x=lambda d: tensor([complex(INF, 1), complex(1, -INF), complex(INF, INF), 2 - 1j, complex(NAN, 1)], d), y=lambda d: tensor([1 + 2j, 0j, 1 - 1j, complex(INF, 0), 1j], d))
each("quotients_at_the_edge", "(x / y, 1 / y, torch.reciprocal(y))",
     x=lambda d: tensor([1 + 2j, 3 - 1j, 1e-30 + 1e-31j, 1e18 + 1e18j], d), y=lambda d: tensor([1e17 - 1e18j, 1e-17 + 1e-18j, 1e-18 - 1e-20j, 3e18 + 1e17j], d))
each("filled", "x.fill_(y[0])\nx[0].fill_(2j)\nreturn x, torch.full_like(x, 1 - 1j), torch.full_like(x, 2), x.new_full([2], 3j), torch.zeros(2).fill_(y[0].real)", x=of_shape(3, 2), y=of_shape(2))
row("complex_full_of_real_refused", "torch.full_like(x, 1j)", x=f32(2), raises="cannot be converted to type")
row("complex_fill_of_real_refused", "x.fill_(1j)", x=i64(2), raises="cannot be converted to type")
row("complex_written_into_real_refused", "x.add_(y)", x=f32(3), y=random("c64", 3), raises="can't be cast")
row("complex_rotary_embedding", """
    a = torch.view_as_complex(x.float().reshape(2, 5, 3, 4, 2))
    f = torch.polar(torch.ones_like(t), t)
    return torch.view_as_real(a * f.view(1, 5, 1, 4)).flatten(3).type_as(x)""", x=f32(2, 5, 3, 8), t=f32(5, 4))

row("complex_powers_of_zero", "(torch.pow(x, y), torch.pow(0, y), torch.float_power(x, y), x ** -2, x ** (0.5 + 1j))", x=tensor([0j] * 6, "c128"),
    y=tensor([1 + 1j, -1 + 1j, -1 + 0j, 0.5 - 2j, -2 - 3j, 2j], "c128"), also=[{"x": tensor([0j] * 6, "c64"), "y": tensor([1 + 1j, -1 + 1j, -1 + 0j, 0.5 - 2j, -2 - 3j, -1j], "c64")}])

# c10::complex divides each part by zero, and multiplies without C's recovery of infinities.
each("divided_by_zero", "(x / y, x / 0, torch.true_divide(x, y.real), torch.div(x, 0.0, rounding_mode=None), x.clone().div_(0), torch.addcdiv(x, x, y), y.reciprocal(), y.rsqrt())",
     x=lambda d: tensor([1 + 2j, -1 + 0j, complex(INF, 1), 3 - 4j, 0j], d), y=lambda d: tensor([0j, complex(-0.0, 0), 0j, 2j, 0j], d))
each("sums_with_infinities", "(x + y, x - y, y - x, x + y.real, x - float('-inf'), torch.rsub(x, float('inf')), torch.sub(x, y, alpha=2), x.clone().add_(y), x.clone().sub_(float('inf')))",
     x=lambda d: tensor([1 + 2j, complex(INF, 1), complex(1, -INF), 3j], d), y=lambda d: tensor([complex(-INF, 0), 1 - 1j, 2 + 0j, complex(0, INF)], d))
each("alpha_and_value", "(torch.add(x, y, alpha=1 + 2j), torch.sub(x, y, alpha=2j), torch.rsub(x, y, alpha=1 - 1j), torch.add(x, 2, alpha=1j), torch.sub(x, 1.5, alpha=3 - 1j), torch.rsub(x, 2, alpha=2j), "
     "x.clone().add_(y, alpha=1j), torch.addcmul(x, y, y, value=1 - 2j), torch.addcdiv(x, y, z, value=2j), x.clone().addcdiv_(y, z, value=1j), torch.div(x, 2 - 1j, rounding_mode=None))",
     x=of_shape(3, 5), y=of_shape(3, 5), z=of_shape(5))
row("complex_alpha_of_real_refused", "torch.add(x, y, alpha=1j)", x=f32(3), y=f32(3), raises="expected a real number, got a complex one")
row("complex_value_of_real_refused", "torch.addcmul(x, y, y, value=1j)", x=f32(3), y=f32(3), raises="expected a real number, got a complex one")
each("written_at_indices", "(torch.scatter(x, 0, i, 2j), torch.scatter(x, 0, i, 1 - 1j, reduce='multiply'), x.index_add(0, k, y, alpha=1 + 2j), x.clone().index_add_(0, k, y, alpha=2), "
     "torch.scatter_reduce(x, 0, i, y, 'mean'), torch.scatter_reduce(x, 0, i, y, 'mean', include_self=False), torch.scatter_reduce(x, 0, i[:0], y, 'amax'), x.index_reduce(0, k, y, 'mean'))",
     x=of_shape(3, 4), y=of_shape(2, 4), i=tensor([[0, 1, 2, 0], [0, 1, 0, 2]], "i64"), k=tensor([1, 1], "i64"))
row("complex_scattered_into_real_refused", "torch.scatter(x, 0, i, 2j)", x=f32(3), i=tensor([0], "i64"), raises="without overflow")
row("complex_least_of_scattered_refused", "torch.scatter_reduce(x, 0, i, x, 'amin')", x=random("c64", 3), i=tensor([0, 0, 1], "i64"), raises="not implemented for 'ComplexFloat'")
each("packed_sequences", "data, sizes = torch._pack_padded_sequence(x, torch.tensor([4, 2, 1]), True)\nreturn data, sizes, torch._pad_packed_sequence(data, sizes, True, 1 - 2j, 5), torch._pad_packed_sequence(data, sizes, False, 0, -1)",
     x=of_shape(3, 4, 2))
row("complex_padding_of_real_refused", "torch._pad_packed_sequence(x, n, False, 1j, 4)", x=f32(3, 2), n=tensor([1, 1, 1], "i64"), raises="without overflow")
row("complex_result_types", "(torch.result_type(x, 2j), torch.result_type(2j, x), torch.result_type(2j, 1))", x=f32(2), also=[{"x": f64(2)}, {"x": i64(2)}, {"x": random("c128", 2)}])
row("text_of_dtypes", "[str(torch.zeros([2, 0], dtype=d)) for d in [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool, torch.bfloat16]]")
row("text_of_half_tensors", "(str(x), str(y), str(z))", x=random("bf16", 4, 1), y=random("f16", 2, 2, 3), z=random("c64"))
