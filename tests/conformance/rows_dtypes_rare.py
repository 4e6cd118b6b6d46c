"""int8, int16, float16 and bfloat16 in every family of operators. A result that is computed in a wider dtype is
rounded once for each operator. It wraps, promotes and keeps views as PyTorch's does."""
from conformance import *

RARE = SHORTS + HALVES


def small(dtype, *shape, lo=1, hi=5):
    return b8(*shape) if dtype == "b8" else random(dtype, *shape, lo=lo, hi=hi)


def rare(name, body, dtypes=HALVES, **inputs):
    """Adds a row. Each input is a function of the dtype, or the same for all."""
    def cell(d):
        return {k: v(d) if callable(v) else v for k, v in inputs.items()}
    options = {k: inputs.pop(k) for k in ("rtol", "atol", "why") if k in inputs}
    row(f"rare_{name}", body, **options, **cell(dtypes[0]), also=[{k: v(d) for k, v in inputs.items() if callable(v)} for d in dtypes[1:]])


def of_shape(*shape, **limits):
    return lambda d: random(d, *shape, **limits)


# ---- Promotion -----------------------------------------------------------------------------------

EVERY = ALL + RARE
for name, body in {"add": "x + y", "mul": "x * y", "div": "x / y", "lt": "x < y", "maximum": "torch.maximum(x, y)",
                   "where": "torch.where(x > y, x, y)", "pow": "torch.pow(x, y)", "cat": "torch.cat([x.reshape(-1), y.reshape(-1)])"}.items():
    for a in RARE:
        others = [d for d in EVERY if not (d == "b8" and name == "pow")]
        row(f"rare_promote_{name}_{a}", body, x=small(a, 5), y=small(others[0], 5),
            also=[{"y": small(b, 5)} for b in others[1:]] + [{"y": small(b)} for b in others] +
                 [{"x": small(b), "y": small(a, 2, 3)} for b in others])
for name, body in {"add": "(x + n, n + x)", "sub": "(x - n, n - x)", "mul": "(x * n, n * x)", "div": "(x / n, n / x)",
                   "floor_div": "x // n", "remainder": "(x % n, n % x)", "pow": "(x ** n, n ** x)",
                   "lt": "(x < n, x >= n, x == n, x != n)"}.items():
    for kind, n in (("int", 3), ("float", 2.1)):
        rare(f"promote_{name}_with_{kind}", body, RARE, n=n, x=lambda d: small(d, 40))
rare("promote_wide_numbers_wrap", "(x + 300, x * 1000, x - n)", SHORTS, x=lambda d: small(d, 5), n=70000)
rare("promote_alpha_is_rounded", "(torch.add(x, y, alpha=0.1), torch.sub(x, y, alpha=0.3))", x=of_shape(40), y=of_shape(40))
rare("promote_numbers_of_products", "(x * 0.1, x / 0.3, x + 0.1, torch.clamp(x, -0.1, 0.7), x < 0.1, x ** 1.7, torch.lerp(x, y, 0.3))",
     x=of_shape(200), y=of_shape(200))
rare("promote_result_types", """
    return (torch.result_type(x, 2), torch.result_type(x, 2.5), torch.promote_types(x.dtype, torch.int16), torch.promote_types(x.dtype, torch.uint8),
            torch.promote_types(x.dtype, torch.float16), torch.promote_types(x.dtype, torch.bfloat16), torch.can_cast(x.dtype, torch.int8),
            x.dtype, x.element_size(), x.is_floating_point(), x.is_signed())""", RARE, x=lambda d: small(d, 2))

# ---- Conversions ---------------------------------------------------------------------------------

TO_ALL = """
    return (x.to(torch.float32), x.to(torch.float64), x.to(torch.int64), x.to(torch.int32), x.to(torch.uint8), x.to(torch.bool),
            x.to(torch.int8), x.to(torch.int16), x.to(torch.float16), x.to(torch.bfloat16), x.half(), x.char(), x.short())"""
for d in ALL + RARE:
    row(f"rare_convert_{d}_to_all", TO_ALL, x=tensor([0, 1, 0, 1], "b8") if d == "b8" else random(d, 17, lo=0, hi=100),
        also=[{"x": small(d)}, {"x": random(d, 0)}])
row("rare_convert_rounds_to_even", "(x.half(), x.to(torch.bfloat16), x.half().float(), x.to(torch.bfloat16).float(), x.double().half())",
    x=tensor([1.0, 1.00048828125, 1.0009765625, 1.00146484375, 1.00390625, 1.01171875, 65504.0, 65519.0, 65520.0, -65520.0, 3.39e38, 6e-8, 2.98e-8,
              2.99e-8, 8.9e-8, 6.1e-5, 6.0e-5, 1e-40, 1e-45, -1e-45, 0.0, -0.0, INF, -INF, NAN]))
row("rare_convert_wraps", "(x.to(torch.int8), x.to(torch.int16), x.to(torch.int8).to(torch.uint8))", x=tensor([-1, 127, 128, -129, 32768, 70000, -70000], "i64"))
rare("convert_specials", "(x.float(), x.double(), x.to(torch.bool), x == x)", x=lambda d: special(40, dtype=d))
rare("convert_strided", "(x.float(), x.double().stride(), x.t().contiguous(), x.t().float())", RARE, x=lambda d: noncontig(small(d, 3, 4)))

# ---- Pointwise --------- --------------------------------------------------------------------------

UNARY = ("sqrt exp log sin cos tanh sigmoid rsqrt reciprocal erf log1p expm1 abs neg sign floor ceil round trunc square relu isnan isinf "
         "isfinite logical_not tan asin atan sinh cosh exp2 log2 log10 frac").split()
# PyTorch's AVX-512 kernel returns infinity for log1p of the greatest numbers.
rare("unary", "(" + ", ".join(f"torch.{f}(x)" for f in UNARY if f != "log1p") + ")", x=lambda d: special(60, dtype=d))
rare("log1p", "torch.log1p(x)", x=lambda d: tensor([NAN, INF, -INF, -1.0, -2.0, -0.0, 0.0, 0.5, 1e-3, 3e4], d))
rare("unary_of_shorts", "(" + ", ".join(f"torch.{f}(x)" for f in UNARY if f not in ("frac",)) + ", ~x, -x)", SHORTS, x=of_shape(17))
rare("nan_to_num", "(x.nan_to_num(), x.nan_to_num(0.1), x.nan_to_num(posinf=3.0, neginf=-1e30))", x=lambda d: tensor([NAN, INF, -INF, 2.5], d))
rare("activations", """
    return (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.softplus(x), F.elu(x), F.selu(x), F.leaky_relu(x, 0.1), F.hardswish(x),
            F.hardsigmoid(x), F.hardtanh(x), F.relu6(x), F.logsigmoid(x), F.softsign(x), F.glu(x), F.celu(x), F.hardshrink(x), F.softshrink(x))""",
     x=of_shape(3, 40))
BINARY = ("torch.add(x, y), torch.sub(x, y), torch.mul(x, y), torch.div(x, y), x // y, torch.remainder(x, y), torch.fmod(x, y), torch.atan2(x, y), "
          "torch.maximum(x, y), torch.minimum(x, y), x == y, x != y, x < y, x >= y, torch.div(x, y, rounding_mode='trunc')")
rare("binary", f"({BINARY}, torch.hypot(x, y), torch.copysign(x, y))", x=lambda d: special(60, dtype=d), y=lambda d: small(d, 60))
rare("nextafter", "(torch.nextafter(x, y), torch.nextafter(y, x), torch.nextafter(x, torch.tensor(5.0)), torch.nextafter(x, z).dtype)",
     x=lambda d: tensor([1.0, 0.0, -0.0, 2.0, NAN, 1.0, INF, -INF, 6e4, -1.0, 6e-8, 6e-8, -6e-8, 6.1e-5, 65504.0], d),
     y=lambda d: tensor([2.0, 1.0, -1.0, 1.0, 1.0, NAN, 0.0, 0.0, INF, -2.0, 0.0, 1.0, 1.0, -1.0, INF], d), z=f32(15))
rare("binary_of_shorts", f"({BINARY}, x & y, x | y, x ^ y, x << y, x >> y, torch.pow(x, y))", SHORTS, x=of_shape(60), y=lambda d: small(d, 60))
rare("shorts_overflow", "(x + x, x * x, x - 7 * x, -x, torch.abs(x), x.sum(), x.cumsum(0), x.prod(), torch.square(x), x.dot(x))", SHORTS,
     x=lambda d: tensor([100, 127, -128, -127, 1, 0], d))
rare("shorts_divided_by_zero", "x // y", SHORTS, x=lambda d: small(d, 3), y=lambda d: small(d, 3, lo=1, hi=3))
row("rare_shorts_divided_by_zero_refused", "x // y", x=tensor([1, 2], "i8"), y=tensor([1, 0], "i8"), raises="ZeroDivisionError")
rare("strided_and_broadcast", "(x + y, (x * y).stride(), x.t() * 2, torch.exp(x[:, ::2]), x - y[0])", x=of_shape(4, 6), y=of_shape(1, 6))
rare("in_place", "x.add_(y).mul_(2)\nx[0] = 7\nx[:, 1] += 1\nreturn x.clamp_(max=5), x.exp_()", RARE[2:], x=of_shape(3, 4), y=of_shape(3, 4))
rare("in_place_of_shorts", "x.add_(y).mul_(2)\nx[0] = 7\nx[:, 1] += 1\nreturn x.clamp_(max=50), x.bitwise_and_(3)", SHORTS, x=of_shape(3, 4), y=of_shape(3, 4))
rare("views_are_written", "y = x.t()[1]\ny.mul_(3)\nz = x.view(-1)\nz[2:5] = y[:3].sum()\nF.relu_(x)\nreturn x, y, z", RARE, x=of_shape(4, 4))
row("rare_float_into_short_refused", "x.add_(1.5)", x=small("i8", 3), raises="can't be cast")

# ---- Reductions and scans ------------------------------------------------------------------------

rare("reductions", """
    return (x.sum(), x.sum(0), x.sum(1, keepdim=True), x.mean(), x.mean(1), x.prod(1), x.amax(0), x.amin(), x.max(1), x.min(0), x.argmax(), x.argmin(1),
            x.std(), x.var(1), x.norm(), torch.linalg.vector_norm(x, 1.0, dim=1), x.logsumexp(1), x.any(), x.all(1), torch.count_nonzero(x), x.nansum(),
            x.sum(dtype=torch.float32), x.mean(1, dtype=torch.float64), torch.aminmax(x), torch.var_mean(x, dim=1))""", x=of_shape(5, 23))
rare("reductions_of_shorts", """
    return (x.sum(), x.sum(0), x.prod(1), x.amax(0), x.amin(), x.max(1), x.min(0), x.argmax(), x.any(), x.all(1), torch.count_nonzero(x),
            x.sum(dtype=torch.float32), x.sum(dtype=torch.int8), torch.aminmax(x), x.cumsum(0), x.cumprod(1), x.cummax(1))""", SHORTS, x=of_shape(5, 23))
rare("traces", "x.trace()", SHORTS, x=of_shape(3, 4))
rare("scans", "(x.cumsum(0), x.cumprod(1), x.cummax(1), x.cummin(0), torch.logcumsumexp(x, 0), x.cumsum(0, dtype=torch.float32))", x=of_shape(4, 9))
rare("long_sum_is_wide", "(x.sum(), x.mean(), (x * 0 + 1).sum())", x=of_shape(5000, lo=0, hi=1))
row("rare_results_in_a_dtype", """
    return (x.sum(dtype=torch.bfloat16), torch.softmax(x, 0, dtype=torch.float16), F.log_softmax(x, 1, dtype=torch.bfloat16), x.cumsum(0, dtype=torch.float16),
            x.mean(dtype=torch.float16), x.prod(0, dtype=torch.bfloat16))""", x=f32(3, 4))

# ---- Indices, copies, shapes ---------------------------------------------------------------------

rare("moved", """
    return (x[1], x[:, ::2], x[x > 2], x[[2, 0]], x.t(), x.flatten(), x.reshape(2, -1), x.repeat(2, 1), x.flip(0), x.roll(1, 1), torch.cat([x, x], 1),
            torch.stack([x, x], 2), x.unbind(0), x.chunk(2, 1), x.expand(2, 3, 4), x.tril(), x.triu(1), F.pad(x, [1, 2]), x.diagonal(), torch.diag_embed(x),
            x.index_select(1, i), x.gather(1, i.expand(3, 2)), x.take(i), x.nonzero(), x.masked_select(x > 2), x.repeat_interleave(2, 0), x.unfold(1, 2, 1),
            torch.where(x > 2, x, 0), x.masked_fill(x > 2, 1), x.rot90())""", RARE, x=lambda d: small(d, 3, 4), i=tensor([2, 0], "i64"))
rare("scattered", """
    return (x.scatter(1, i, y), x.scatter_add(1, i, y), x.index_add(1, j, y, alpha=2), x.index_copy(1, j, y), x.index_fill(1, j, 3),
            x.index_put((j,), y[:2, :1].expand(2, 4), accumulate=True), x.scatter_reduce(1, i, y, "amax"), x.scatter_reduce(1, i, y, "sum"),
            x.scatter_reduce(1, i, y, "prod"), x.scatter_reduce(1, i, y, "amin", include_self=False), x.put(j, y[0], accumulate=True),
            x.masked_scatter(x > 2, y.repeat(1, 2)))""", RARE,
     x=lambda d: small(d, 3, 4), y=lambda d: small(d, 3, 2), i=tensor([[0, 1], [2, 2], [3, 0]], "i64"), j=tensor([2, 0], "i64"))
rare("sorted", """
    return (x.sort(1), x.sort(0, descending=True), x.topk(2, 1), x.argsort(1), x.kthvalue(2, 1), x.median(), x.median(1), torch.unique(x),
            torch.unique(x, return_inverse=True, return_counts=True), x.mode(1), torch.searchsorted(x.sort(1)[0], x), torch.bucketize(x, x.flatten().sort()[0]),
            torch.isin(x, x[0]))""", RARE, x=lambda d: small(d, 3, 7))
for d in RARE:
    row(f"rare_made_{d}", f"""
    d = torch.{str(DTYPES[d]).split('.')[1]}
    return (torch.zeros(2, 3, dtype=d), torch.ones(2, dtype=d), torch.full([2], 2.7, dtype=d), torch.arange(7, dtype=d), torch.arange(1, 9, 2, dtype=d),
            torch.linspace(0, 9, 5, dtype=d), torch.eye(3, dtype=d), torch.tensor([1, 2], dtype=d), torch.tensor(3, dtype=d), torch.zeros_like(x, dtype=d),
            torch.full_like(x, 3, dtype=d), x.new_zeros(2), x.new_full([2], 7), torch.scalar_tensor(2, dtype=d), x.new_ones(3), torch.empty_like(x).fill_(2))""",
        x=small(d, 2))
rare("int_items", "(int(x), float(x), bool(x), x.item())", SHORTS, x=lambda d: small(d))
rare("float_items", "(float(x), int(x), bool(x))", x=lambda d: small(d))
rare("list_of_tensors", "ys = [x, x * 2]\nys.append(x + 1)\nreturn torch.cat(ys), ys[0].dtype, torch.broadcast_tensors(x, ys[2])", RARE, x=lambda d: small(d, 3))

# ---- Products, layers ----------------------------------------------------------------------------

rare("products", """
    return (x @ y, torch.mm(x, y), torch.bmm(x[None], y[None]), x @ y[:, 0],
            torch.einsum("ij,jk->ki", x, y), torch.outer(x[0], y[:, 0]), torch.dot(x[0], y[:, 0]), torch.mv(x, y[:, 0]))""",
     x=of_shape(3, 5), y=of_shape(5, 4), z=of_shape(3, 4))
INTEGERS = SHORTS + INTS
rare("einsum_of_one", """
    return (torch.einsum("ij->i", x), torch.einsum("ij->", x), torch.einsum("ij->ji", x), torch.einsum("ii->i", x[:, :3]), torch.einsum("ii->", x[:, :3]),
            torch.einsum("kji->ik", x.t()[None]))""", INTEGERS + ("b8",), x=lambda d: b8(3, 40) if d == "b8" else random(d, 3, 40, lo=90, hi=127))
for d in INTEGERS:
    dtype = f"torch.{str(DTYPES[d]).split('.')[1]}"
    row(f"rare_logspace_{d}", f"""
    return (torch.logspace(a, b, n, 2.0, dtype={dtype}), torch.logspace(b, a, n, 1.5, dtype={dtype}), torch.logspace(x, y, n, 2.5, dtype={dtype}),
            torch.logspace(0, x, n, 2.0, dtype={dtype}))""", a=0.7, b=6.9, n=5, x=tensor(1.7), y=tensor(5, "i64"),
        also=[{"n": 0}, {"n": 1}, {"n": 8}])
# PyTorch rounds the product before it adds to it.
rare("products_and_sums", "(torch.addmm(z, x, y), torch.addmm(z, x, y, beta=0.5, alpha=2.0), torch.baddbmm(z[None], x[None], y[None]))",
     x=of_shape(3, 5), y=of_shape(5, 4), z=of_shape(3, 4), rtol=2e-2, atol=4e-3,
     why="PyTorch rounds the product to a half before it adds: sums near 0 were off by 0.003, in float16 and bfloat16")
rare("products_of_shorts", "(x @ y, torch.mm(x, y), x @ y[:, 0], torch.outer(x[0], y[:, 0]), torch.dot(x[0], y[:, 0]))", SHORTS, x=of_shape(3, 50), y=of_shape(50, 4))
for d in HALVES:
    row(f"rare_linear_{d}", "(F.linear(x, w, b), F.linear(x, w), F.linear(x[0], w, b))", x=random(d, 3, 17), w=weight(random(d, 9, 17)), b=weight(random(d, 9)),
        also=[{"x": random(d, 2, 5, 17)}])
    row(f"rare_conv_{d}", "(F.conv2d(x, w, b), F.conv2d(x, w, b, 2, 1), F.conv_transpose2d(x, v, stride=2), F.conv1d(x[:, :, 0], w[:, :, 0], padding=1))",
        x=random(d, 2, 3, 9, 8), w=weight(random(d, 5, 3, 3, 3)), b=weight(random(d, 5)), v=weight(random(d, 3, 4, 2, 2)))
    row(f"rare_attention_{d}", "(F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True))",
        q=random(d, 1, 2, 5, 8), k=random(d, 1, 2, 5, 8), v=random(d, 1, 2, 5, 8), rtol=2e-2 if d == "bf16" else 4e-3, atol=4e-3 if d == "bf16" else 1e-3,
        why="PyTorch rounds the scores and the weights to halves on the way: 0.001 (float16) and 0.008 (bfloat16) were measured, of answers near 1")
    row(f"rare_embedding_{d}", "F.embedding(i, w)", i=tensor([[1, 0], [3, 3]], "i64"), w=weight(random(d, 4, 5)))
rare("norms", """
    return (F.layer_norm(x, [6]), F.layer_norm(x, [6], w, w), F.group_norm(x, 2), F.batch_norm(x, m, m.abs() + 1))""",
     x=of_shape(3, 4, 6), w=of_shape(6), m=of_shape(4))
# PyTorch rounds the mean and the variance, or decomposes the norm into several operators.
rare("norms_of_several_steps", "(F.instance_norm(x), F.rms_norm(x, [6]))", x=of_shape(3, 4, 6), rtol=2e-2, atol=4e-3,
     why="PyTorch rounds to a half after each step: up to 0.016, of answers near 2, was measured in bfloat16")
rare("softmax", "(F.softmax(x, 1), F.log_softmax(x, 0), F.softmax(x, -1, dtype=torch.float32), F.softmin(x, 1))", x=of_shape(5, 9))
rare("pools", "(F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 1), F.adaptive_avg_pool2d(x, 2), F.adaptive_max_pool2d(x, 2), F.interpolate(x, scale_factor=2.0), "
     "F.interpolate(x, size=[5, 7], mode='bilinear'), F.pixel_shuffle(x, 2))", x=of_shape(1, 4, 8, 6))
rare("losses", "(F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.cosine_similarity(x, y))", x=of_shape(4, 6), y=of_shape(4, 6))

# ---- Random numbers ------------------------------------------------------------------------------

rare("uniform_numbers", "(torch.rand_like(x), torch.empty_like(x).uniform_(-2.0, 3.0), torch.rand(2))", x=of_shape(3, 7))
rare("other_draws", "(torch.bernoulli(x.abs().clamp(max=1)), F.dropout(x, 0.5, True), torch.randint_like(x, 5), torch.empty_like(x).normal_(1.0, 2.0), torch.rand(2))", x=of_shape(3, 4))
rare("draws_of_shorts", "(torch.randint_like(x, 100), torch.randint(0, 9, [3], dtype=x.dtype), torch.rand(2))", SHORTS, x=of_shape(3, 4))

# ---- Intermediate rounding. The comparison is exact, because a missing or extra rounding changes only the last bit.

NEAR = {"f16": [0.3003, 0.2998, 0.3005, -0.3003, 0.7, -0.7, 1.3, 0.0, 1.0, -2.5, 0.1234, 3.3], "bf16": [0.30078125, 0.298828125, 0.302734375, -0.30078125, 0.7, -0.7, 1.3, 0.0, 1.0, -2.5, 0.1234, 3.3]}
for name, body in {"hardshrink_limit": "F.hardshrink(x, 0.3003)", "softshrink_limit": "F.softshrink(x, 0.3003)", "clamp_limits": "torch.clamp(x, -0.7001, 0.3003)",
                   "hardtanh_limits": "F.hardtanh(x, -0.7001, 0.3003)", "threshold": "F.threshold(x, 0.3003, 0.1003)"}.items():
    rare(name, body, rtol=0, atol=0, why="the limit decides between two answers, which are next to each other", x=lambda d: tensor(NEAR[d], d))
for name, body in {"add_alpha": "torch.add(x, y, alpha=0.3003)", "sub_alpha": "torch.sub(x, y, alpha=0.3003)", "rsub_alpha": "torch.rsub(x, y, alpha=0.7001)",
                   "rsub_number_alpha": "torch.rsub(x, 0.3003, alpha=0.7001)", "cube": "x ** 3", "inverse_square": "x ** -2", "inverse_root": "torch.abs(x) ** -0.5",
                   "huber_loss": "F.huber_loss(x, y, reduction='none', delta=0.3003)", "smooth_l1_loss": "F.smooth_l1_loss(x, y, reduction='none', beta=0.3003)"}.items():
    rare(f"steps_{name}", body, rtol=0, atol=0, why="each step rounds as PyTorch's does, so that answers are equal", x=of_shape(200), y=of_shape(200))
# The tolerance is one unit of bfloat16, because a result that uses a logarithm may differ by one.
for name, body in {"logit": "torch.logit(x)", "logit_eps": "torch.logit(x, 0.1003)", "xlogy": "torch.xlogy(x - 0.5, x)", "xlog1py": "torch.special.xlog1py(x - 0.5, x)",
                   "kl_div": "F.kl_div(x - 0.5, x, reduction='none')"}.items():
    rare(f"steps_{name}", body, rtol=2**-7, atol=0, why="one unit of bfloat16: log and exp are not PyTorch's to the last bit", x=of_shape(200, lo=0, hi=1))
rare("logit_of_one", "torch.logit(x, 1e-5)", x=lambda d: tensor([1.0, 0.0, 0.5, 2.0, -1.0, 0.99], d))
