"""Operators that the exporter decomposes into others: losses, distances, products, patches."""
from conformance import *

# ---- Losses ------------------------------------------------------------------------------------------

PAIR = dict(x=f32(3, 5), y=f32(3, 5), also=[{"x": f32(0, 5), "y": f32(0, 5)}, {"x": f32(1, 17), "y": f32(1, 17)}, {"x": noncontig(f32(2, 3)), "y": f32(2, 3)}])
for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
    row(name, f"(F.{name}(x, y), F.{name}(x, y, reduction='sum'), F.{name}(x, y, reduction='none'))", **PAIR)
row("mse_loss_broadcast", "torch._C._nn.mse_loss(x, y)", x=f32(3, 5), y=f32(5))
row("mse_loss_f64", "F.mse_loss(x, y)", x=f64(3, 5), y=f64(3, 5))
row("smooth_l1_loss_beta", "(F.smooth_l1_loss(x, y, beta=0.25), F.smooth_l1_loss(x, y, beta=0.0, reduction='none'), F.huber_loss(x, y, delta=0.25))", x=f32(3, 5), y=f32(3, 5))
row("smooth_l1_loss_beta_wrong", "F.smooth_l1_loss(x, x, beta=-1.0)", x=f32(3), raises="does not support negative values for beta")
row("huber_loss_delta_wrong", "F.huber_loss(x, x, delta=0.0)", x=f32(3), raises="does not support non-positive values for delta")
row("kl_div", """
    return (F.kl_div(x, y, reduction='batchmean'), F.kl_div(x, y, reduction='sum'), F.kl_div(x, y, reduction='none'),
            F.kl_div(x, torch.log(y), reduction='none', log_target=True))""", x=f32(3, 5), y=tensor([[0.0, 0.5, 1.0, 0.25, 2.0]]))
row("binary_cross_entropy", "(F.binary_cross_entropy(x, y), F.binary_cross_entropy(x, y, reduction='sum'), F.binary_cross_entropy(x, y, w, reduction='none'))",
    x=tensor([0.0, 1.0, 0.5, 0.25, 1e-30]), y=tensor([0.0, 0.0, 1.0, 0.75, 0.5]), w=f32(5))
row("binary_cross_entropy_beyond", "F.binary_cross_entropy(x, x)", x=tensor([0.5, 1.5]), raises="all elements of input should be between 0 and 1")
row("binary_cross_entropy_with_logits", """
    return (F.binary_cross_entropy_with_logits(x, y), F.binary_cross_entropy_with_logits(x, y, w, reduction='sum'),
            F.binary_cross_entropy_with_logits(x, y, reduction='none', pos_weight=w), F.binary_cross_entropy_with_logits(x, y, w, pos_weight=w))""",
    x=tensor([0.0, 100.0, -100.0, 3.0, -0.5]), y=tensor([0.0, 1.0, 0.0, 0.75, 0.5]), w=f32(5, lo=0.1, hi=2))
CLASSES = dict(x=f32(4, 5), t=tensor([0, 4, 2, -100], "i64"), w=f32(5, lo=0.1, hi=2), also=[{"x": f32(1, 5), "t": tensor([3], "i64")}])
row("nll_loss", "(F.nll_loss(x, t), F.nll_loss(x, t, w), F.nll_loss(x, t, reduction='sum'), F.nll_loss(x, t, w, reduction='none'))", **CLASSES)
row("nll_loss_ignores", "(F.nll_loss(x, t, ignore_index=4), F.nll_loss(x, t, w, ignore_index=2, reduction='none'))", x=f32(3, 5), t=tensor([0, 4, 2], "i64"), w=f32(5, lo=0.1, hi=2))
row("nll_loss_one", "F.nll_loss(x, t)", x=f32(5), t=tensor(3, "i64"))
row("nll_loss_pictures", "(F.nll_loss(x, t), F.nll_loss(x, t, w, reduction='none'))", x=f32(2, 3, 4, 5), t=i64(2, 4, 5, lo=0, hi=2), w=f32(3, lo=0.1, hi=2))
row("nll_loss_all_ignored", "(F.nll_loss(x, t), F.nll_loss(x, t, reduction='sum'))", x=f32(2, 3), t=tensor([-100, -100], "i64"))
row("nll_loss_forward", """
    return (torch.ops.aten.nll_loss_forward(x, t, None, 1, -100), torch.ops.aten.nll_loss_forward(x, t, w, 2, -100),
            torch.ops.aten.nll_loss_forward(x, t, w, 0, -100), torch.ops.aten.nll_loss_forward(x[0], t[0], w, 0, -100))""", **CLASSES)
row("nll_loss2d_forward", "(torch.ops.aten.nll_loss2d_forward(x, t, w, 1, -100), torch.ops.aten.nll_loss2d_forward(x, t, None, 0, 2))",
    x=f32(2, 3, 4, 5), t=i64(2, 4, 5, lo=0, hi=2), w=f32(3, lo=0.1, hi=2))
row("nll_loss_beyond", "F.nll_loss(x, t)", x=f32(2, 3), t=tensor([0, 7], "i64"), raises="out of bounds")
row("cross_entropy", "(F.cross_entropy(x, t), F.cross_entropy(x, t, w), F.cross_entropy(x, t, reduction='sum'), F.cross_entropy(x, t, w, reduction='none'))", **CLASSES)
row("cross_entropy_smoothed", """
    return (F.cross_entropy(x, t, label_smoothing=0.1), F.cross_entropy(x, t, w, label_smoothing=0.1),
            F.cross_entropy(x, t, w, reduction='sum', label_smoothing=0.3), F.cross_entropy(x, t, reduction='none', label_smoothing=0.3))""", **CLASSES)
row("cross_entropy_probabilities", """
    y = torch.softmax(y, 1)
    return (F.cross_entropy(x, y), F.cross_entropy(x, y, w, reduction='none'), F.cross_entropy(x, y, w, reduction='sum', label_smoothing=0.2))""",
    x=f32(4, 5), y=f32(4, 5), w=f32(5, lo=0.1, hi=2), also=[{"x": f32(2, 5, 3), "y": f32(2, 5, 3)}])
row("cross_entropy_pictures", "F.cross_entropy(x, t)", x=f32(2, 3, 4, 5), t=i64(2, 4, 5, lo=0, hi=2))

# ---- Distances and products ----------------------------------------------------------------------------

row("dist", "(torch.dist(x, y), torch.dist(x, y, 1), torch.dist(x, y, 0.5), torch.dist(x, y, float('inf')))", x=f32(3, 4), y=f32(4))
row("pairwise_distance", "(F.pairwise_distance(x, y), F.pairwise_distance(x, y, 1.0, 1e-3, True))", x=f32(3, 4), y=f32(3, 4), also=[{"y": f32(4)}])
row("cdist", "(torch.cdist(x, y), torch.cdist(x, y, 1.0), torch.cdist(x, y, float('inf')), torch.cdist(x, y, 0.0), torch.cdist(x, y, 3.0))", x=f32(3, 4), y=f32(5, 4), also=[{"x": f32(2, 3, 4), "y": f32(5, 4)}, {"x": f32(0, 4)}])
row("cdist_many", "(torch.cdist(x, y), torch.cdist(x, y, compute_mode='donot_use_mm_for_euclid_dist'), torch.cdist(y[:2], y[3:5], compute_mode='use_mm_for_euclid_dist'))", x=f32(30, 4), y=f32(5, 4))
row("cdist_sizes_differ", "torch.cdist(x, y)", x=f32(3, 4), y=f32(3, 5), raises="must have the same number of columns")
row("cross", "(torch.cross(x, y, dim=1), torch.cross(x, y, dim=-1), torch.linalg.cross(x, y), torch.linalg.cross(x[:1], y))", x=f32(5, 3), y=f32(5, 3))
row("cross_dim_found", "torch.cross(x, y)", x=f32(2, 3, 3), y=f32(2, 3, 3))
row("cross_wrong", "torch.linalg.cross(x, y)", x=f32(5, 4), y=f32(5, 4), raises="must have length 3")
row("tensordot", "(torch.tensordot(x, y, dims=([1, 2], [0, 1])), torch.tensordot(x, x, dims=([0], [0])), torch.tensordot(x, y, dims=([-1], [1])))", x=f32(2, 3, 4), y=f32(3, 4, 5))
row("tensordot_one", "torch.tensordot(x, y, dims=([1], [0]))", x=f32(2, 3), y=f32(1, 4))
row("tensordot_sizes_differ", "torch.tensordot(x, y, dims=([1], [0]))", x=f32(2, 3), y=f32(2, 4), raises="contracted dimensions need to match")
row("inner", "(torch.inner(x, y), torch.inner(x, s), torch.inner(y[0], y[0]))", x=f32(2, 3), y=f32(4, 3), s=f32())
row("kron", "(torch.kron(x, y), torch.kron(x, v), torch.kron(v, x))", x=f32(2, 3), y=f32(4, 1), v=f32(2))
row("bilinear", "(F.bilinear(x, y, w, b), F.bilinear(x, y, w))", x=f32(2, 5, 3), y=f32(2, 5, 4), w=f32(6, 3, 4), b=f32(6), also=[{"x": f32(3), "y": f32(4)}])
row("diff_order_0", """
    y = torch.diff(x, 0)
    y += 1
    return x, y, torch.diff(x, 0, prepend=x), torch.diff(x, 0, 0, x, x)""", x=f32(3, 5), also=[{"x": i64(3, 5)}, {"x": transposed(f32(3, 5))}])
for n in (1, 2, 3, 9):
    for name, dtype in (("f32", f32), ("i64", i64), ("u8", u8), ("bool", b8)):
        row(f"diff_{n}_{name}", f"torch.diff(x, {n}, prepend=y), torch.diff(x, {n}, append=y), torch.diff(x, {n}, -1, y, x), torch.diff(x.t(), {n}, 0, y.t())",
            x=dtype(3, 5), y=dtype(3, 2), also=[{"x": dtype(3, 0)}])
row("diff_promotes", "torch.diff(x, 2, prepend=y), torch.diff(x, 1, append=y), torch.diff(x, 2, 0, append=z)", x=i64(3, 5), y=f32(3, 2), z=u8(1, 5))
row("diff", "(torch.diff(x), torch.diff(x, 2), torch.diff(x, 1, 0), torch.diff(x, 9), torch.diff(x, prepend=x[:, :1]), torch.diff(x, 1, 0, append=x), torch.diff(x > 0))", x=f32(3, 5), also=[{"x": i64(3, 5)}])
row("cartesian_prod", "(torch.cartesian_prod(xs), torch.cartesian_prod(xs[:1]))", xs=[i64(2), i64(3), i64(1)])

# ---- Slices ----------------------------------------------------------------------------------------------

row("fill_diagonal", """
    x.fill_diagonal_(4.0)
    y.fill_diagonal_(2, wrap=True)
    x[:, 1:].fill_diagonal_(-1)
    return x, y""", x=f32(3, 5), y=f32(7, 3), mutates=True)
row("fill_diagonal_cube", "x.fill_diagonal_(4)", x=i64(3, 3, 3), also=[{"x": i64(2, 2, 2, 2)}])
row("fill_diagonal_wrong", "x.fill_diagonal_(4)", x=f32(3, 3, 2), raises="all dimensions of input must be of equal length")
row("pad_sequence", """
    pad = torch.nn.utils.rnn.pad_sequence(xs)
    return pad, torch.nn.utils.rnn.pad_sequence(xs, True, -1.0), torch.nn.utils.rnn.pad_sequence(xs, True, 0.5, 'left')""", xs=[f32(3, 2), f32(0, 2), f32(4, 2)])
IMAGE = dict(x=f32(2, 3, 6, 5), also=[{"x": f32(3, 6, 5)}])
row("unfold_image", "(F.unfold(x, 2), F.unfold(x, [2, 3], dilation=2), F.unfold(x, [3, 1], padding=1, stride=[2, 1]))", **IMAGE)
row("unfold_image_too_small", "F.unfold(x, 7)", x=f32(1, 1, 4, 4), raises="too small")
row("fold_image", "(F.fold(x, [4, 5], 2), F.fold(x, [5, 6], 2, dilation=2), F.fold(x[..., :4], [3, 3], 2, padding=1, stride=2))", x=f32(2, 8, 12), also=[{"x": f32(8, 12)}])
row("fold_image_wrong", "F.fold(x, [4, 4], 2)", x=f32(1, 4, 8), raises="to match the calculated number of sliding blocks")
row("affine_grid", "(F.affine_grid(t, [2, 1, 3, 4], align_corners=False), F.affine_grid(t, [2, 1, 3, 1], align_corners=True))", t=f32(2, 2, 3))
row("affine_grid_3d", "F.affine_grid(t, [2, 1, 3, 4, 2], align_corners=False)", t=f32(2, 3, 4))

# ---- Series, windows, steps ------------------------------------------------------------------------------

for name, more in {"hann": [""], "hamming": ["", ", 0.5", ", 0.5, 0.4"], "blackman": [""]}.items():
    calls = [f"torch.{name}_window({n})" for n in ("0", "1", "2", "n", "n + 1")]
    calls += [f"torch.{name}_window(n, {periodic}{m})" for periodic in ("True", "False") for m in more]
    row(f"{name}_window", f"({', '.join(calls)}, torch.{name}_window(n, dtype=torch.float64))", n=7, also=[{"n": 400}])
    row(f"{name}_window_of_integers", f"torch.{name}_window(n, dtype=torch.int64)", n=7, raises="expects floating point dtypes")
row("linspace_of_tensors", "(torch.linspace(a, b, n), torch.linspace(a, 2, n), torch.linspace(1, b, n), torch.linspace(a, b, n, dtype=torch.float64))",
    a=tensor(-1.5), b=tensor(3, "i64"), n=5, also=[{"n": 0}, {"n": 1}])
row("linspace_of_vectors", "torch.linspace(a, 2, 3)", a=f32(2), raises="only supports 0-dimensional start and end tensors")
row("logspace", "(torch.logspace(-2, a, n), torch.logspace(0, 3, n, 2.0), torch.logspace(0, a, n, dtype=torch.float64))", a=1.5, n=7, also=[{"n": 0}, {"n": 1}, {"n": 18}])
for dtype in ("float16", "bfloat16"):
    row(f"logspace_{dtype}", f"torch.logspace(0, 4.3, n, dtype=torch.{dtype}), torch.logspace(-4.3, 2, n, 3.0, dtype=torch.{dtype})", n=50, also=[{"n": 1}, {"n": 0}])
row("logspace_of_tensors", "(torch.logspace(a, b, 5), torch.logspace(a, 2, 5), torch.logspace(1, b, 5, 3.0))", a=tensor(-1.5), b=tensor(2, "i64"))
row("heaviside", "(torch.heaviside(x, y), torch.heaviside(x, y[0]), torch.heaviside(i, j))", x=tensor([[0.0, -0.0, 2.0], [-3.0, NAN, INF]]), y=f32(2, 3), i=i64(3, lo=-1, hi=1), j=i64(3))
row("heaviside_dtypes_differ", "torch.heaviside(x, y)", x=f32(2), y=f64(2), raises="different dtypes")
row("ldexp", "(torch.ldexp(x, i), torch.ldexp(x, x), torch.ldexp(i, i))", x=f32(2, 3), i=i64(3), also=[{"x": f64(2, 3)}])
row("ldexp_of_numbers", "math.ldexp(x, n)", x=1.5, n=4)
row("nanmean", "(torch.nanmean(x), torch.nanmean(x, 1), torch.nanmean(x, [0], True), torch.nanmean(x, 0, dtype=torch.float64))", x=tensor([[1.0, NAN, 2.0], [NAN, NAN, 5.0]]), also=[{"x": f64(3, 4)}])
row("histc", "(torch.histc(x), torch.histc(x, 7), torch.histc(x, 10, -1, 1), torch.histc(x, 5, 0.5, 0.75), torch.histc(x, 3, 2, 2))",
    x=f32(500), also=[{"x": f64(3, 40)}, {"x": f32(7, lo=2, hi=2)}, {"x": f32(0)}, {"x": noncontig(f32(5, 6))}])
row("histc_at_borders", "(torch.histc(x, 10, 0, 1), torch.histc(x, 3, -1, 1), torch.histc(x / 10, 7, 0, 0.7))", x=tensor([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, -1.0, NAN]))
row("histc_of_nan", "torch.histc(x, 4)", x=tensor([1.0, NAN]), raises="is not finite")
row("histc_max_below_min", "torch.histc(x, 4, 2, 1)", x=f32(4), raises="max must be larger than min")

# ---- Statistics --------------------------------------------------------------------------------------------

GAPS = tensor([[1.0, NAN, 3.0, -2.0, 0.5], [NAN, NAN, NAN, NAN, NAN], [4.0, 4.0, -1.0, INF, 2.0]])
for name in ("quantile", "nanquantile"):
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        calls = (f"torch.{name}(x, {args}, interpolation='{how}')" for args in ("0.3", "q", "q[0]", "q, 0", "0.65, 1, True", "q, -1, True", "q, None, True"))
        row(f"{name}_{how}", f"({', '.join(calls)})", x=f32(3, 7), q=tensor([0.25, 0.0, 1.0, 0.6]), also=[{"x": GAPS}, {"x": f32(1, 1)}, {"x": transposed(f32(5, 4))}])
    row(f"{name}_f64", f"(torch.{name}(x, q, 1), torch.{name}(x, 0.4, 2, True), torch.{name}(x[0, 0, 0], q, 0, True), torch.{name}(x[0, 0, 0], 0.5))",
        x=f64(2, 5, 3), q=tensor([0.1, 0.9], "f64"))
    row(f"{name}_beyond", f"torch.{name}(x, 1.5)", x=f32(3), raises="in the range")
    row(f"{name}_of_none", f"torch.{name}(x, 0.5)", x=f32(0), raises="must be non-empty")
    row(f"{name}_of_ints", f"torch.{name}(x, 0.5)", x=i64(3), raises="either float or double")
    row(f"{name}_q_of_another_dtype", f"torch.{name}(x, q)", x=f32(3), q=f64(2, lo=0, hi=1), raises="same dtype")
row("combinations", "(torch.combinations(x), torch.combinations(x, 3), torch.combinations(x, 2, True), torch.combinations(x, 1), torch.combinations(x, 0), torch.combinations(x, 5))",
    x=f32(4), also=[{"x": i64(3)}, {"x": f32(0)}])
row("combinations_of_rows", "torch.combinations(x)", x=f32(2, 2), raises="Expect a 1D vector")
row("logcumsumexp", "(torch.logcumsumexp(x, 0), torch.logcumsumexp(x, -1), torch.logcumsumexp(x.t(), 1))", x=f32(5, 7, lo=-30, hi=30),
    also=[{"x": f64(4, 3)}, {"x": f32(0, 3)}, {"x": GAPS}, {"x": tensor([[-INF, -INF, 1.0, INF, 2.0, -INF], [INF, INF, -INF, NAN, 1.0, INF]])}])
row("logcumsumexp_of_ints", "torch.logcumsumexp(x, 0)", x=i64(3), raises="not implemented for 'Long'")

row("conv_tbc", "torch.conv_tbc(x, w, b, 1)", x=f32(7, 2, 3), w=weight(f32(3, 3, 4)), b=weight(f32(4)))
row("conv_tbc_of_inputs", "torch.conv_tbc(x, w, b, pad)", x=f64(9, 1, 2), w=f64(4, 2, 5), b=f64(5), pad=0, also=[{"x": noncontig(f64(5, 3, 2)), "pad": 2}])
row("conv_tbc_strides", "torch.conv_tbc(x, w, b).stride()", x=f32(7, 2, 3), w=f32(3, 3, 4), b=f32(4))
row("conv_tbc_of_other_channels", "torch.conv_tbc(x, w, b)", x=f32(7, 2, 3), w=f32(3, 2, 4), b=f32(4), raises="input channels")

# ---- Complex convolutions: the weight must be a constant, or the trace must record its dtype


THREE_SUMS = dict(atol=6e-6, why="three real convolutions are added, as in PyTorch, and cancel: 3.8e-6 was measured in wasm")


def complex_conv(name, body, x, w, b=None, **options):
    bias = {} if b is None else {"b": weight(random("c64", *b))}
    row(f"complex_{name}", body, x=random("c64", *x), w=weight(random("c64", *w)), **bias, **THREE_SUMS, **options)


complex_conv("conv1d", "F.conv1d(x, w, b, 2, 1)", (2, 3, 9), (4, 3, 3), (4,))
complex_conv("conv2d", "F.conv2d(x, w, b, 1, 1, 2)", (2, 3, 7, 8), (4, 3, 3, 2), (4,))
complex_conv("conv2d_groups", "F.conv2d(x, w, None, 1, 0, 1, 2)", (2, 4, 7, 8), (6, 2, 3, 3))
complex_conv("conv2d_unbatched", "F.conv2d(x, w, b)", (3, 7, 8), (4, 3, 3, 3), (4,))
complex_conv("conv2d_same", "F.conv2d(x, w, b, 1, 'same')", (2, 3, 7, 8), (4, 3, 3, 2), (4,))
complex_conv("conv1d_same_unbatched", "F.conv1d(x, w, None, 1, 'same')", (3, 7), (4, 3, 4))
complex_conv("conv3d", "F.conv3d(x, w, b)", (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (3,))
complex_conv("conv_transpose1d", "F.conv_transpose1d(x, w, b, 2)", (2, 3, 5), (3, 4, 3), (4,))
complex_conv("conv_transpose2d", "F.conv_transpose2d(x, w, None, 2, 1, 1, 2)", (2, 4, 5, 5), (4, 3, 3, 3))
complex_conv("conv_transpose3d", "F.conv_transpose3d(x, w)", (1, 2, 3, 3, 3), (2, 3, 2, 2, 2))
complex_conv("conv2d_traced", "F.conv2d(x, w, b, 2)", (2, 3, 7, 8), (4, 3, 3, 2), (4,), trace=True)
row("complex_conv2d_of_traced_inputs", "F.conv2d(x, w)", x=random("c128", 2, 3, 7, 8), w=random("c128", 4, 3, 3, 2), trace=True)


row("int_mm", "torch._int_mm(x, y)", x=random("i8", 3, 5, lo=-128, hi=127), y=random("i8", 5, 4, lo=-128, hi=127), also=[{"x": random("i8", 0, 5)}])
row("int_mm_of_other_dtypes", "torch._int_mm(x, y)", x=i32(3, 5), y=random("i8", 5, 4), raises="to be of type int8")
