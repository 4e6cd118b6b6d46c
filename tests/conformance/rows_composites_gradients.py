"""Backward operators, which make_fx and torch.export record for a gradient inside forward. The exporter decomposes them."""
from conformance import *


def halves(name, body, **inputs):
    """Adds a row with a vector for each floating dtype. Each input is a function of the dtype."""
    def cell(d):
        return {k: v(d) if callable(v) else v for k, v in inputs.items()}
    row(f"gradient_{name}", body, **cell("f32"), also=[{k: v(d) for k, v in inputs.items() if callable(v)} for d in ("f64", *HALVES)])


def of_shape(*shape, **limits):
    return lambda d: random(d, *shape, **limits)


# ---- Activations: g is the gradient of the result

#: Leaves out 3, because PyTorch's vectorized hardswish and its scalar tail give different answers there.
POINTS = [-30.0, -4.0, -3.5, -2.999, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 2.999, 3.5, 4.0, 6.0, 30.0]
for name, body in {
    "tanh": "torch.ops.aten.tanh_backward(g, torch.tanh(x))",
    "sigmoid": "torch.ops.aten.sigmoid_backward(g, torch.sigmoid(x))",
    "threshold": "torch.ops.aten.threshold_backward(g, x, 0.3)",
    "hardtanh": "torch.ops.aten.hardtanh_backward(g, x, -1, 0.3)",
    "hardsigmoid": "torch.ops.aten.hardsigmoid_backward(g, x)",
    "hardswish": "torch.ops.aten.hardswish_backward(g, x)",
    "silu": "torch.ops.aten.silu_backward(g, x)",
    "mish": "torch.ops.aten.mish_backward(g, x)",
    "gelu": "torch.ops.aten.gelu_backward(g, x)",
    "gelu_tanh": "torch.ops.aten.gelu_backward(g, x, approximate='tanh')",
    "elu": "torch.ops.aten.elu_backward(g, 0.7, 1.1, 0.5, False, x)",
    "elu_of_result": "torch.ops.aten.elu_backward(g, 0.7, 1.0, 1.0, True, F.elu(x, 0.7))",
    "leaky_relu": "torch.ops.aten.leaky_relu_backward(g, x, 0.1, False)",
    "rrelu": "(torch.ops.aten.rrelu_with_noise_backward(g, x, x, 0.1, 0.3, False, False), torch.ops.aten.rrelu_with_noise_backward(g, x, x, 0.1, 0.3, True, False))",
    "prelu": "torch.ops.aten._prelu_kernel_backward(g, x, torch.full_like(x, 0.3))",
    "softplus": "torch.ops.aten.softplus_backward(g, x, 1.5, 20)",
    "softshrink": "torch.ops.aten.softshrink_backward(g, x, 0.3)",
    "hardshrink": "torch.ops.aten.hardshrink_backward(g, x, 0.3)",
    "glu": "torch.ops.aten.glu_backward(g[:8], x, 0)",
    "log_sigmoid": "torch.ops.aten.log_sigmoid_backward(g, x, torch.ops.aten.log_sigmoid_forward(x)[1])",
    "log_sigmoid_forward": "torch.ops.aten.log_sigmoid_forward(x)",
    "dropout": "torch.ops.aten.native_dropout_backward(g, x > 0, 1.25)",
}.items():
    halves(name, body, g=of_shape(16), x=lambda d: tensor(POINTS, d))
halves("logit", "(torch.ops.aten.logit_backward(g, x), torch.ops.aten.logit_backward(g, x, 0.4))", g=of_shape(8), x=lambda d: tensor([-1.0, 0.0, 0.1, 0.4, 0.5, 0.7, 1.0, 2.0], d))
halves("softmax", "torch.ops.aten._softmax_backward_data(g, torch.softmax(x, 1), 1, x.dtype)", g=of_shape(3, 5), x=of_shape(3, 5))
halves("log_softmax", "torch.ops.aten._log_softmax_backward_data(g, x, 1, x.dtype)", g=of_shape(3, 5), x=of_shape(3, 5, lo=-3, hi=-1))
row("gradient_softmax_of_columns", "(torch.ops.aten._softmax_backward_data(g, torch.softmax(x, 0), 0, x.dtype), torch.ops.aten._log_softmax_backward_data(g, x, 1, x.dtype))",
    g=f32(3, 5, 2), x=f32(3, 5, 2))
row("gradient_tanh_of_complex", "(torch.ops.aten.tanh_backward(g, y), torch.ops.aten.sigmoid_backward(g, y))", g=random("c64", 5), y=random("c64", 5))
row("gradient_of_nan", "(torch.ops.aten.threshold_backward(g, x, 0), torch.ops.aten.hardtanh_backward(g, x, -1, 1), torch.ops.aten.gelu_backward(g, x), "
    "torch.ops.aten.hardswish_backward(g, x), torch.ops.aten.leaky_relu_backward(g, x, 0.1, False))", g=f32(4), x=tensor([NAN, INF, -INF, 1.0]))
row("gradient_elu_of_negative_slope", "torch.ops.aten.elu_backward(g, -1.0, 1.0, 1.0, True, x)", g=f32(3), x=f32(3), raises="negative slope")

# ---- Norms

row("gradient_layer_norm", "torch.ops.aten.native_layer_norm_backward(g, x, [4, 3], m, r, w, b, [True, True, True])", g=f32(5, 4, 3), x=f32(5, 4, 3),
    m=f32(5, 1, 1), r=f32(5, 1, 1, lo=0.5, hi=2), w=f32(4, 3), b=f32(4, 3))
halves("layer_norm_input", "torch.ops.aten.native_layer_norm_backward(g, x, [4, 3], m, r, w, b, [True, False, False])[0]", g=of_shape(5, 4, 3), x=of_shape(5, 4, 3),
       m=of_shape(5, 1, 1), r=of_shape(5, 1, 1, lo=0.5, hi=2), w=of_shape(4, 3), b=of_shape(4, 3))
row("gradient_layer_norm_plain", "torch.ops.aten.native_layer_norm_backward(g, x, [6], m, r, None, None, [True, False, False])[0]", g=f32(6), x=noncontig(f32(6)),
    m=f32(1), r=f32(1, lo=0.5, hi=2))
halves("group_norm", "torch.ops.aten.native_group_norm_backward(g, x, m, r, w, 2, 6, 5, 3, [True, True, True])", g=of_shape(2, 6, 5), x=of_shape(2, 6, 5),
       m=of_shape(2, 3), r=of_shape(2, 3, lo=0.5, hi=2), w=of_shape(6))
for train in (True, False):
    row(f"gradient_batch_norm_{'train' if train else 'eval'}", "torch.ops.aten.native_batch_norm_backward(g, x, w, rm, rv, m, r, train, 1e-3, [True, True, True])",
        g=f32(4, 3, 5), x=f32(4, 3, 5), w=f32(3), rm=f32(3), rv=f32(3, lo=0.5, hi=2), m=f32(3), r=f32(3, lo=0.5, hi=2), train=train)
row("gradient_batch_norm_plain", "torch.ops.aten.native_batch_norm_backward(g, x, None, rm, rv, None, None, False, 1e-3, [True, False, False])[0]", g=f32(4, 3),
    x=f32(4, 3), rm=f32(3), rv=f32(3, lo=0.5, hi=2))
row("gradient_weight_norm", "(torch.ops.aten._weight_norm_interface(v, g, 0), torch.ops.aten._weight_norm_interface_backward(u, v, g, n, 0))", v=f32(4, 3, 2), u=f32(4, 3, 2),
    g=f32(4, 1, 1), n=f32(4, 1, 1, lo=1, hi=2))

# ---- Convolutions: stride, padding, dilation, transposed, output_padding, groups

for name, sizes, weights, out, settings in [
    ("1d", (2, 4, 9), (6, 2, 3), (2, 6, 5), "[2], [1], [1], False, [0], 2"),
    ("1d_leftover", (2, 2, 10), (3, 2, 2), (2, 3, 4), "[3], [1], [2], False, [0], 1"),
    ("2d", (2, 3, 6, 7), (4, 3, 3, 2), (2, 4, 6, 6), "[1, 1], [1, 0], [1, 1], False, [0, 0], 1"),
    ("2d_of_one_number", (1, 4, 8, 8), (4, 1, 3, 3), (1, 4, 4, 4), "[2], [1], [1], False, [0], 4"),
    ("3d", (1, 2, 4, 5, 4), (3, 2, 2, 3, 1), (1, 3, 3, 3, 4), "[1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1"),
    ("transposed", (2, 4, 5), (4, 3, 3), (2, 6, 11), "[2], [0], [1], True, [0], 2"),
    ("transposed_padded", (2, 2, 4, 4), (2, 3, 3, 3), (2, 3, 8, 8), "[2, 2], [1, 1], [1, 1], True, [1, 1], 1"),
]:
    call = f"torch.ops.aten.convolution_backward(g, x, w, [{out[1]}], {settings}, "
    row(f"gradient_conv_{name}", call + "[True, True, True])", g=f32(*out), x=f32(*sizes), w=f32(*weights))
    row(f"gradient_conv_{name}_input", call + "[True, False, False])[0]", g=f32(*out), x=f32(*sizes), w=weight(f32(*weights)))
row("gradient_conv_tbc", "torch.ops.aten.conv_tbc_backward(g, x, w, b, 1)", g=f32(7, 2, 4), x=f32(7, 2, 3), w=f32(3, 3, 4), b=f32(4))

# ---- Pools, pads, samples

for name, sizes, out, call in [
    ("avg_pool2d", (2, 3, 6, 7), (2, 3, 4, 4), "avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 0], True, True, None)"),
    ("avg_pool2d_without_padding", (3, 6, 7), (3, 3, 4), "avg_pool2d_backward(g, x, [3, 2], [2], [1], False, False, None)"),
    ("avg_pool2d_divisor", (1, 2, 4, 4), (1, 2, 2, 2), "avg_pool2d_backward(g, x, [2], [], [0], False, True, 3)"),
    ("adaptive_avg_pool2d", (2, 3, 5, 7), (2, 3, 3, 4), "_adaptive_avg_pool2d_backward(g, x)"),
    ("adaptive_avg_pool3d", (2, 4, 5, 3), (2, 2, 3, 2), "_adaptive_avg_pool3d_backward(g, x)"),
]:
    row(f"gradient_{name}", f"torch.ops.aten.{call}", g=f32(*out), x=f32(*sizes), also=[{"g": f64(*out), "x": f64(*sizes)}])  # PyTorch sums float16 in float16 here
for name, sizes, out, call in [
    ("reflection_pad1d", (2, 3, 5), (2, 3, 8), "reflection_pad1d_backward(g, x, [2, 1])"),
    ("reflection_pad2d", (3, 4, 5), (3, 5, 8), "reflection_pad2d_backward(g, x, [2, 1, 1, 0])"),
    ("reflection_pad3d", (1, 2, 3, 4, 5), (1, 2, 4, 5, 7), "reflection_pad3d_backward(g, x, [1, 1, 1, 0, 0, 1])"),
    ("replication_pad1d", (3, 5), (3, 8), "replication_pad1d_backward(g, x, [2, 1])"),
    ("replication_pad2d", (2, 3, 4, 5), (2, 3, 5, 8), "replication_pad2d_backward(g, x, [2, 1, 1, 0])"),
    ("replication_pad3d", (2, 3, 4, 5), (2, 4, 5, 7), "replication_pad3d_backward(g, x, [1, 1, 1, 0, 0, 1])"),
]:
    halves(name, f"torch.ops.aten.{call}", g=of_shape(*out), x=of_shape(*sizes))
row("gradient_avg_pool3d", "torch.ops.aten.avg_pool3d_backward(g, x, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None)", g=f32(1, 2, 2, 2, 2), x=f32(1, 2, 4, 5, 4))
for name, out, call in [
    ("max_pool2d", "(2, 3, 3, 4)", "F.max_pool2d_with_indices(x, [2, 2], [2, 2], [0, 0], [1, 1], True)"),
    ("adaptive_max_pool2d", "(2, 3, 3, 2)", "F.adaptive_max_pool2d_with_indices(x, [3, 2])"),
]:
    arguments = "[2, 2], [2, 2], [0, 0], [1, 1], True, i" if name == "max_pool2d" else "i"
    op = f"{name}_with_indices_backward" if name == "max_pool2d" else f"{name}_backward"
    row(f"gradient_{name}", f"y, i = {call}\nreturn torch.ops.aten.{op}(g, x, {arguments})", g=random("f32", *eval(out)), x=f32(2, 3, 6, 7))
row("gradient_max_pool3d", "y, i = F.max_pool3d_with_indices(x, 2, 1)\nreturn torch.ops.aten.max_pool3d_with_indices_backward(g, x, [2], [1], [0], [1], False, i)",
    g=f32(1, 2, 2, 3, 4), x=f32(1, 2, 3, 4, 5))
row("gradient_adaptive_max_pool3d", "y, i = F.adaptive_max_pool3d_with_indices(x, [2, 3, 2])\nreturn torch.ops.aten.adaptive_max_pool3d_backward(g, x, i)",
    g=f32(1, 2, 2, 3, 2), x=f32(1, 2, 3, 4, 5))
row("gradient_fractional_max_pool2d", "y, i = torch.ops.aten.fractional_max_pool2d(x, [2, 2], [3, 4], s)\nreturn torch.ops.aten.fractional_max_pool2d_backward(g, x, [2, 2], [3, 4], i)",
    g=f32(1, 2, 3, 4), x=f32(1, 2, 6, 7), s=f32(1, 2, 2, lo=0, hi=1))
row("gradient_fractional_max_pool3d", "y, i = torch.ops.aten.fractional_max_pool3d(x, [2, 2, 2], [2, 3, 2], s)\nreturn torch.ops.aten.fractional_max_pool3d_backward(g, x, [2, 2, 2], [2, 3, 2], i)",
    g=f32(1, 2, 2, 3, 2), x=f32(1, 2, 5, 6, 4), s=f32(1, 2, 3, lo=0, hi=1))
for name, sizes, out, more in [
    ("upsample_nearest1d", (2, 3, 5), (2, 3, 8), "None"), ("_upsample_nearest_exact1d", (2, 3, 5), (2, 3, 8), "1.6"),
    ("upsample_nearest2d", (2, 3, 5, 4), (2, 3, 8, 3), "None, None"), ("_upsample_nearest_exact2d", (2, 3, 5, 4), (2, 3, 8, 3), "None, None"),
    ("upsample_nearest3d", (1, 2, 3, 4, 2), (1, 2, 5, 3, 4), "None, None, None"), ("_upsample_nearest_exact3d", (1, 2, 3, 4, 2), (1, 2, 5, 3, 4), "None, None, None"),
    ("upsample_linear1d", (2, 3, 5), (2, 3, 8), "False, 1.6"), ("upsample_bilinear2d", (2, 3, 5, 4), (2, 3, 8, 3), "True, None, None"),
    ("upsample_trilinear3d", (1, 2, 3, 4, 2), (1, 2, 5, 3, 4), "False, None, None, None"), ("upsample_bicubic2d", (2, 3, 5, 4), (2, 3, 8, 3), "False, 1.6, 0.75"),
    ("_upsample_bilinear2d_aa", (2, 3, 9, 8), (2, 3, 4, 11), "False, None, None"), ("_upsample_bicubic2d_aa", (2, 3, 9, 8), (2, 3, 4, 11), "True, None, None"),
]:
    row(f"gradient_{name.strip('_')}", f"torch.ops.aten.{name}_backward(g, {list(out[2:])}, {list(sizes)}, {more})", g=f32(*out), also=[{"g": f64(*out)}])

# ---- Parts

row("gradient_slice", "(torch.ops.aten.slice_backward(g, [7, 3], 0, 1, 6, 2), torch.ops.aten.slice_backward(g, [3, 9], 1, 0, 9223372036854775807, 3))", g=f32(3, 3))
row("gradient_select", "(torch.ops.aten.select_backward(g, [4, 2, 3], 0, -1), torch.ops.aten.select_backward(g, [2, 3, 2], 2, 1))", g=f32(2, 3))
row("gradient_diagonal", "(torch.ops.aten.diagonal_backward(g, [4, 3], 0, 0, 1), torch.ops.aten.diagonal_backward(g, [3, 4], 1, 0, 1))", g=f32(3))
row("gradient_unfold", "torch.ops.aten.unfold_backward(g, [2, 9, 3], 1, 4, 2)", g=f32(2, 3, 3, 4))
row("gradient_unfold_of_a_number", "torch.ops.aten.unfold_backward(g, s, 0, 1, 1)", g=f32(1), s=[], types={"s": "List[int]"})
row("gradient_masked_scatter", "torch.ops.aten.masked_scatter_backward(g, m, [3, 4])", g=f32(2, 5), m=b8(2, 5))
row("gradient_embedding", "(torch.ops.aten.embedding_dense_backward(g, i, 9, -1, False), torch.ops.aten.embedding_dense_backward(g, i, 9, 3, True))", g=f32(2, 3, 5),
    i=tensor([[1, 3, 1], [0, 8, 3]], "i64"), also=[{"i": tensor([[1, 3, 1], [0, 8, 3]], "i32")}])
for mode in (0, 1, 2):
    row(f"gradient_embedding_bag_{mode}", "y, of, s, m = torch.embedding_bag(w, i, o, False, mode, False, None, False, -1)\n"
        "return torch.ops.aten._embedding_bag_backward(g, i, o, of, s, m, 9, False, mode, False, None, -1)", g=f32(3, 5), w=f32(9, 5),
        i=tensor([1, 3, 1, 0, 8, 3], "i64"), o=tensor([0, 2, 2], "i64"), mode=mode)
row("gradient_embedding_bag_weights", "torch.ops.aten._embedding_bag_per_sample_weights_backward(g, w, i, o, of, 0, -1)", g=f32(3, 5), w=f32(9, 5),
    i=tensor([1, 3, 1, 0], "i64"), o=tensor([0, 2, 2], "i64"), of=tensor([0, 0, 2, 2], "i64"))

# ---- Losses, distances, attention

for reduction in (0, 1, 2):
    shape = (4, 3) if reduction == 0 else ()
    for name, call in {"mse_loss": "mse_loss_backward(g, x, y, r)", "smooth_l1_loss": "smooth_l1_loss_backward(g, x, y, r, 0.5)",
                       "huber_loss": "huber_loss_backward(g, x, y, r, 0.7)", "soft_margin_loss": "soft_margin_loss_backward(g, x, torch.sign(y), r)",
                       "binary_cross_entropy": "binary_cross_entropy_backward(g, torch.sigmoid(x), torch.sigmoid(y), torch.abs(y), r)"}.items():
        row(f"gradient_{name}_{reduction}", f"torch.ops.aten.{call}", g=f32(*shape), x=f32(4, 3), y=f32(4, 3), r=reduction)
    row(f"gradient_nll_loss_{reduction}", "torch.ops.aten.nll_loss_backward(g, x, t, w, r, 1, n)", g=f32(4) if reduction == 0 else f32(), x=f32(4, 3),
        t=tensor([0, 1, 2, 0], "i64"), w=f32(3, lo=0.5, hi=2), r=reduction, n=tensor(3.5))
    row(f"gradient_nll_loss2d_{reduction}", "torch.ops.aten.nll_loss2d_backward(g, x, t, None, r, -100, n)", g=f32(2, 2, 2) if reduction == 0 else f32(), x=f32(2, 3, 2, 2),
        t=i64(2, 2, 2, lo=0, hi=2), r=reduction, n=tensor(8.0))
row("gradient_nll_loss_of_one", "torch.ops.aten.nll_loss_backward(g, x, t, None, 1, -100, n)", g=f32(), x=f32(5), t=tensor(2, "i64"), n=tensor(1.0))
for p in (0.0, 0.5, 1.0, 2.0, 3.0, INF):
    name = str(p).replace(".", "_")
    row(f"gradient_cdist_{name}", "torch.ops.aten._cdist_backward(g, x, y, p, torch.cdist(x, y, p))", g=f32(2, 4, 3), x=f32(2, 4, 5), y=f32(2, 3, 5), p=p)
    row(f"gradient_pdist_{name}", "torch.ops.aten._pdist_backward(g, x, p, torch.pdist(x, p))", g=f32(6), x=f32(4, 5), p=p)
for name, options in {"plain": "0.0, False", "causal": "0.0, True", "scaled": "0.0, False, scale=0.3", "masked": "0.0, False, attn_mask=torch.zeros([5, 4])"}.items():
    row(f"gradient_attention_{name}", f"y, s = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, {options})\n"
        f"return y, s, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, s, {options})", g=f32(2, 3, 5, 8), q=f32(2, 3, 5, 8),
        k=f32(2, 3, 4, 8), v=f32(2, 3, 4, 8))
for mode in (0, 1):
    for padding in (0, 1, 2):
        row(f"gradient_grid_sample_{mode}_{padding}", "torch.ops.aten.grid_sampler_2d_backward(g, x, p, mode, padding, align, [True, True])", g=f32(2, 3, 4, 5), x=f32(2, 3, 6, 7),
            p=f32(2, 4, 5, 2, lo=-1.5, hi=1.5), mode=mode, padding=padding, align=False, also=[{"align": True}])
row("gradient_grid_sample_3d", "torch.ops.aten.grid_sampler_3d_backward(g, x, p, 0, 2, True, [True, True])", g=f64(1, 2, 2, 3, 2), x=f64(1, 2, 3, 4, 5), p=f64(1, 2, 3, 2, 3, lo=-2, hi=2))
row("forward_parts_of_gradients", "(torch.ops.aten._cdist_forward(x, y, 2.0, None), torch.ops.aten._pdist_forward(x, 1.0), torch.ops.aten._trilinear(x, y, y, [], [], [], [1]))",
    x=f32(4, 3), y=f32(4, 3))

# ---- Losses with margins, CTC, segments, masks

for name, shape, targets, reductions in (("rows", (4, 5), [3, 0, 4, 1], (0, 1, 2)), ("one_row", (5,), 2, (0, 1))):
    for p in (1, 2):
        for r in reductions:
            out = shape[:1] if r == 0 and len(shape) == 2 else ()
            row(f"gradient_multi_margin_{name}_{p}_{r}", "(torch.ops.aten.multi_margin_loss_backward(g, x, t, p, 0.7, None, r), torch.ops.aten.multi_margin_loss_backward(g, x, t, p, 1, w, r))",
                g=f32(*out), x=f32(*shape), t=tensor(targets, "i64"), w=f32(5, lo=0.2, hi=2), p=p, r=r)
for r in (0, 1, 2):
    row(f"gradient_multilabel_margin_{r}", "y, marks = torch.ops.aten.multilabel_margin_loss_forward(x, t, r)\nreturn y, torch.ops.aten.multilabel_margin_loss_backward(g, x, t, r, marks)",
        g=f32(*((3,) if r == 0 else ())), x=f32(3, 4), t=tensor([[3, 0, -1, 1], [-1, 2, 0, 1], [0, 1, 2, 3]], "i64"), r=r, also=[{"g": f64(*((3,) if r == 0 else ())), "x": f64(3, 4)}])
row("gradient_multilabel_margin_of_one_row", "y, marks = torch.ops.aten.multilabel_margin_loss_forward(x, t, 1)\nreturn y, torch.ops.aten.multilabel_margin_loss_backward(g, x, t, 1, marks)",
    g=f32(), x=f32(4), t=tensor([3, 0, -1, 1], "i64"))
CTC = "loss, alphas = torch.ops.aten._ctc_loss(x.log_softmax(2), t, n, m, 0, z)\nreturn loss, torch.ops.aten._ctc_loss_backward(g, x.log_softmax(2), t, n, m, loss, alphas, 0, z)"
row("gradient_ctc", CTC, x=f32(6, 3, 5), t=tensor([[1, 1, 2], [3, 2, 4], [4, 0, 0]], "i64"), n=[6, 5, 4], m=[3, 3, 1], g=f32(3), z=False, also=[{"x": f64(6, 3, 5), "g": f64(3)}])
row("gradient_ctc_of_impossible_targets", CTC, x=f32(3, 3, 4), t=tensor([1, 1, 2, 3, 2], "i64"), n=[3, 1, 3], m=[3, 1, 1], g=f32(3), z=True)
row("gradient_ctc_of_empty_targets", CTC, x=f32(3, 2, 4), t=tensor([[1, 2], [1, 2]], "i64"), n=[3, 2], m=[0, 2], g=f32(2), z=False)
row("gradient_ctc_of_tensors", "loss, alphas = torch.ops.aten._ctc_loss(x.log_softmax(2), t, n, m, 1)\nreturn loss, torch.ops.aten._ctc_loss_backward(g, x.log_softmax(2), t, n, m, loss, alphas, 1)",
    x=f32(4, 2, 3), t=tensor([0, 2, 2], "i64"), n=tensor([4, 3], "i64"), m=tensor([2, 1], "i64"), g=f32(2))
for how in ("sum", "mean", "max", "min", "prod"):
    row(f"gradient_segment_reduce_{how}", f"y = torch.segment_reduce(x, '{how}', lengths=n, axis=0)\nreturn torch.ops.aten._segment_reduce_backward(g, y, x, '{how}', lengths=n)",
        x=tensor([[1.0, 2.0], [1.0, 0.0], [-3.0, 0.5], [4.0, 0.0], [0.5, -0.0], [2.0, 1.0]]), n=tensor([2, 0, 1, 3], "i64"), g=f32(4, 2))
row("gradient_segment_reduce_of_offsets", "y = torch.segment_reduce(x, 'sum', offsets=o, axis=1)\nreturn torch.ops.aten._segment_reduce_backward(g, y, x, 'sum', offsets=o, axis=1)",
    x=f32(2, 5), o=tensor([[0, 2, 5], [0, 4, 5]], "i64"), g=f32(2, 2))
row("masked_softmax", "(torch._masked_softmax(x, m, 3, 2), torch._masked_softmax(x, m, None, None), torch._masked_softmax(x, m, 1, 2), torch._masked_softmax(x, m[0, 0], 3, 0), torch._masked_softmax(x, m[:, 0, 0], 3, 1))",
    x=f32(2, 3, 4, 4), m=b8(2, 3, 4, 4))
row("gradient_masked_softmax", "y = torch._masked_softmax(x, m, 3, 2)\nreturn torch.ops.aten._masked_softmax_backward(g, y, m, 3), torch.ops.aten._masked_softmax_backward(g, y, m)", g=f32(2, 1, 3, 4), x=f32(2, 1, 3, 4),
    m=tensor([[[[False, True, False, False], [True, True, True, False], [False] * 4]]] * 2, "b8"))
for padding in range(3):
    for align in (False, True):
        row(f"gradient_grid_sample_cubic_{padding}_{int(align)}", f"torch.ops.aten.grid_sampler_2d_backward(g, x, grid, 2, {padding}, {align}, [True, True])", g=f32(2, 3, 4, 5), x=f32(2, 3, 6, 7), grid=f32(2, 4, 5, 2, lo=-1.3, hi=1.3),
            atol=5e-6, why="48 products near 1 are added in float32 and cancel to 0.01; the answers are 2.9e-6 apart")
