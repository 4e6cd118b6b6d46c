"""Convolutions of every kind, the operators that are fused into them, and their refusals."""
from conformance import *

CONV_DTYPES = ("f32", "f64", "i64")

# name: (body, input sizes, weight sizes, bias size)
KINDS = {
    "plain_3x3": ("F.conv2d(x, w, b)", (2, 3, 7, 6), (5, 3, 3, 3), 5),
    "padded": ("F.conv2d(x, w, b, 1, 1)", (1, 4, 5, 7), (9, 4, 3, 3), 9),
    "stem": ("F.conv2d(x, w, b, 2, 1)", (1, 3, 17, 13), (8, 3, 3, 3), 8),
    "stride_dilation": ("F.conv2d(x, w, b, [2, 1], [2, 3], [1, 2])", (1, 2, 9, 8), (3, 2, 3, 4), 3),
    "1x1": ("F.conv2d(x, w, b)", (1, 5, 4, 4), (17, 5, 1, 1), 17),
    "1x1_stride": ("F.conv2d(x, w, b, 2)", (2, 5, 5, 4), (3, 5, 1, 1), 3),
    "1x1_padded": ("F.conv2d(x, w, b, 1, 1)", (1, 3, 2, 2), (4, 3, 1, 1), 4),
    "one_pixel": ("F.conv2d(x, w, b)", (1, 4, 1, 1), (6, 4, 1, 1), 6),
    "whole_input": ("F.conv2d(x, w, b)", (3, 2, 5, 4), (7, 2, 5, 4), 7),
    "padding_beyond": ("F.conv2d(x, w, b, 1, 5)", (1, 1, 2, 2), (2, 1, 2, 2), 2),
    "groups": ("F.conv2d(x, w, b, 1, 1, 1, 2)", (1, 6, 5, 5), (4, 3, 3, 3), 4),
    "groups_1x1": ("F.conv2d(x, w, b, 1, 0, 1, 3)", (2, 6, 3, 3), (9, 2, 1, 1), 9),
    "depthwise": ("F.conv2d(x, w, b, 1, 1, 1, 9)", (2, 9, 6, 11), (9, 1, 3, 3), 9),
    "depthwise_stride": ("F.conv2d(x, w, b, 2, 1, 1, 5)", (1, 5, 13, 14), (5, 1, 3, 3), 5),
    "depthwise_5x5": ("F.conv2d(x, w, b, 1, 2, 1, 8)", (1, 8, 7, 12), (8, 1, 5, 5), 8),
    "depthwise_5x5_stride": ("F.conv2d(x, w, b, 2, 2, 1, 3)", (1, 3, 9, 15), (3, 1, 5, 5), 3),
    "depthwise_dilated": ("F.conv2d(x, w, b, 1, 2, 2, 4)", (1, 4, 8, 13), (4, 1, 3, 3), 4),
    "depthwise_7x7": ("F.conv2d(x, w, b, 1, 3, 1, 6)", (1, 6, 5, 11), (6, 1, 7, 7), 6),
    "depthwise_7x7_wide": ("F.conv2d(x, w, b, 1, 3, 1, 53)", (2, 53, 6, 13), (53, 1, 7, 7), 53),
    "depthwise_narrow": ("F.conv2d(x, w, b, 1, [2, 1], 1, 35)", (2, 35, 7, 3), (35, 1, 5, 3), 35),
    "depthwise_stride_dilation": ("F.conv2d(x, w, b, [2, 3], [4, 2], [3, 2], 37)", (1, 37, 9, 29), (37, 1, 3, 4), 37),
    "depthwise_padding_beyond": ("F.conv2d(x, w, b, 1, 6, 1, 9)", (1, 9, 2, 3), (9, 1, 5, 7), 9),
    "depthwise_multiplier": ("F.conv2d(x, w, b, 1, 1, 1, 3)", (1, 3, 5, 5), (6, 1, 3, 3), 6),
    "1d": ("F.conv1d(x, w, b, 2, 1)", (2, 3, 11), (5, 3, 3), 5),
    "1d_dilated": ("F.conv1d(x, w, b, 1, 4, 4)", (1, 2, 17), (3, 2, 3), 3),
    "1d_depthwise": ("F.conv1d(x, w, b, 1, 2, 1, 5)", (1, 5, 19), (5, 1, 5), 5),
    "1d_depthwise_long": ("F.conv1d(x, w, b, 1, 15, 1, 66)", (1, 66, 41), (66, 1, 31), 66),
    "3d": ("F.conv3d(x, w, b, 1, 1)", (1, 2, 3, 4, 5), (3, 2, 3, 3, 3), 3),
    "3d_stride_groups": ("F.conv3d(x, w, b, [1, 2, 2], [1, 0, 1], 1, 2)", (2, 4, 3, 5, 4), (6, 2, 2, 3, 2), 6),
    "3d_depthwise": ("F.conv3d(x, w, b, 1, 1, 1, 21)", (2, 21, 3, 4, 6), (21, 1, 3, 3, 3), 21),
    "3d_depthwise_stride": ("F.conv3d(x, w, b, [1, 2, 2], [3, 1, 0], [2, 1, 1], 6)", (1, 6, 4, 5, 9), (6, 1, 2, 3, 3), 6),
    "same": ("F.conv2d(x, w, b, 1, 'same')", (1, 3, 6, 5), (4, 3, 3, 3), 4),
    "same_even": ("F.conv2d(x, w, b, 1, 'same', [1, 2])", (1, 2, 6, 7), (4, 2, 2, 4), 4),
    "same_1d": ("F.conv1d(x, w, b, 1, 'same', 3)", (1, 2, 13), (4, 2, 4), 4),
    "valid": ("F.conv2d(x, w, b, 2, 'valid')", (1, 3, 6, 5), (4, 3, 3, 3), 4),
    "transposed": ("F.conv_transpose2d(x, w, b, 2, 1, 1)", (2, 4, 5, 3), (4, 5, 3, 3), 5),
    "transposed_2x2": ("F.conv_transpose2d(x, w, b, 2)", (1, 9, 4, 5), (9, 8, 2, 2), 8),
    "transposed_4x4": ("F.conv_transpose2d(x, w, b, 2, 1)", (1, 3, 4, 4), (3, 6, 4, 4), 6),
    "transposed_stride_1": ("F.conv_transpose2d(x, w, b, 1, 2)", (1, 3, 5, 4), (3, 2, 4, 3), 2),
    "transposed_gaps": ("F.conv_transpose2d(x, w, b, 3)", (1, 3, 3, 4), (3, 2, 1, 2), 2),
    "transposed_dilated": ("F.conv_transpose2d(x, w, b, [2, 3], [1, 0], [1, 2], 1, [2, 3])", (1, 2, 4, 3), (2, 3, 3, 2), 3),
    "transposed_groups": ("F.conv_transpose2d(x, w, b, 2, 1, 0, 2)", (2, 6, 3, 4), (6, 2, 3, 3), 4),
    "transposed_depthwise": ("F.conv_transpose2d(x, w, b, 2, 1, 1, 4)", (1, 4, 3, 4), (4, 1, 4, 4), 4),
    "transposed_1d": ("F.conv_transpose1d(x, w, b, 8, 4)", (1, 3, 9), (3, 2, 16), 2),
    "transposed_3d": ("F.conv_transpose3d(x, w, b, [2, 1, 2], 1, [1, 0, 0])", (1, 2, 3, 2, 3), (2, 3, 3, 2, 3), 3),
}


def weights(*shape):
    """Makes weights as large as a network's, so that no sum cancels to less than its rounding error."""
    return f32(*shape, lo=-0.3, hi=0.3)


for name, (body, x, w, b) in KINDS.items():
    ints = "transposed" not in name  # PyTorch has no transposed convolution of integers
    for dtype in CONV_DTYPES if ints else FLOATS:
        bias = random(dtype, b)
        row(f"conv_{name}_{dtype}", body, x=random(dtype, *x), b=weight(bias),
            w=weight(weights(*w) if dtype == "f32" else random(dtype, *w)))
    row(f"conv_{name}_no_bias", body.replace(", b", ", None"), x=f32(*x), w=weight(weights(*w)))
    # Computed weights, and inputs and weights in every layout.
    row(f"conv_{name}_run_time_weight", body, x=f32(*x), w=weights(*w), b=f32(b))
    row(f"conv_{name}_layouts", body, x=channels_last(f32(*x)) if len(x) > 3 else transposed(f32(*x)),
        w=weight(transposed(weights(*w))), b=weight(noncontig(f32(b))),
        also=[{"x": noncontig(f32(*x))}, {"x": transposed(f32(*x))}])

# One model runs with many shapes, so no cache of the first run may be reused for another shape.
row("conv_shapes_change", "F.conv2d(x, w, b, 1, 1)", x=f32(1, 3, 5, 5), w=weight(weights(4, 3, 3, 3)), b=weight(f32(4)),
    also=[{"x": f32(2, 3, 9, 4)}, {"x": f32(1, 3, 1, 1)}, {"x": f32(0, 3, 5, 5)}, {"x": f32(3, 7, 6)}, {"x": f32(1, 3, 5, 5)}])
row("conv_twice_the_same_weight", "F.conv2d(F.conv2d(x, w, None, 1, 1), w, None, 1, 1) + F.conv2d(x, w, None, 1, 1)",
    x=f32(1, 4, 5, 5), w=weight(weights(4, 4, 3, 3)))
row("conv_weight_is_read_too", "F.conv2d(x, w) + w.sum()", x=f32(1, 2, 5, 5), w=weight(f32(3, 2, 3, 3)))
row("conv_stride_is_computed", "F.conv2d(x, w, None, [s, s])", x=f32(1, 2, 7, 7), w=weight(f32(3, 2, 3, 3)), s=2,
    also=[{"s": 3}])

# The operator after a convolution may be fused with it. NaN and infinity propagate as in PyTorch.
for act, text in {"relu": "torch.relu({})", "relu6": "F.relu6({})", "hardtanh": "F.hardtanh({}, -0.25, 0.5)",
                  "clamp_min": "torch.clamp({}, min=-0.1)", "clamp_max": "{}.clamp_max(0.2)"}.items():
    row(f"conv_{act}_special", text.format("F.conv2d(x, w, b, 1, 1)"), x=nonfinite(1, 3, 6, 5), w=weight(f32(4, 3, 3, 3)),
        b=weight(f32(4)))
    row(f"conv_{act}_depthwise_special", text.format("F.conv2d(x, w, b, 1, 1, 1, 5)"), x=nonfinite(1, 5, 6, 9),
        w=weight(f32(5, 1, 3, 3)), b=weight(f32(5)))
    row(f"conv_{act}_1x1_special", text.format("F.conv2d(x, w, b)"), x=nonfinite(1, 3, 4, 5), w=weight(f32(9, 3, 1, 1)),
        b=weight(f32(9)))
row("conv_relu_in_place", "F.conv2d(x, w).relu_()", x=f32(1, 2, 5, 5), w=weight(f32(3, 2, 3, 3)))
row("conv_bn", """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn = torch.nn.BatchNorm2d(8)
        self.bn.running_mean.uniform_(-1, 1)
        self.bn.running_var.uniform_(0.5, 2)
    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))
""", x=f32(1, 3, 9, 9))
row("conv_padding_modes", """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect")
        self.b = torch.nn.Conv2d(4, 4, 3, padding=[2, 1], padding_mode="circular")
        self.c = torch.nn.Conv2d(4, 3, 3, padding="same", padding_mode="replicate")
    def forward(self, x):
        return self.c(self.b(self.a(x)))
""", x=f32(1, 3, 6, 5))
row("conv_result_is_viewed", "F.conv2d(x, w).view(2, 3, -1)", x=f32(2, 2, 5, 5), w=weight(f32(3, 2, 3, 3)))
row("conv_result_is_added_in_place", """
y = F.conv2d(x, w)
z = y[:, 1:]
z += 1
return y""", x=f32(1, 2, 4, 4), w=weight(f32(3, 2, 3, 3)))

# Large enough for Winograd's tiles of 2x2 and of 4x4.
SUMS = dict(atol=5e-5, why="sums of up to 2,700 terms, in another order and by tiles: 2.4e-5 of answers up to 30 was measured")
for height in range(1, 10):
    row(f"conv_tiled_{height}", "F.conv2d(x, w, b, 1, 1)", x=f32(6, 36, height, (height * 5 + 2) % 9 + 1),
        w=weight(weights(50, 36, 3, 3)), b=weight(f32(50)), **SUMS)
for name, (body, x, w) in {
    "unpadded": ("F.conv2d(x, w, b)", (2, 64, 14, 15), (33, 64, 3, 3)),
    "padding_beyond": ("F.relu(F.conv2d(x, w, b, 1, [5, 2]))", (1, 64, 9, 12), (70, 64, 3, 3)),
    "one_side": ("F.relu6(F.conv2d(F.pad(x, [0, 2, 1, 0]), w, b))", (1, 40, 17, 18), (40, 40, 3, 3)),
    "many_channels": ("F.conv2d(x * 0.3, w, b, 1, 1)", (1, 300, 8, 8), (130, 300, 3, 3)),
    "many_pixels": ("F.conv2d(x, w, b, 1, 1)", (1, 16, 90, 90), (24, 16, 3, 3)),
    "unbatched": ("F.conv2d(x, w, b, 1, 1)", (64, 13, 13), (64, 64, 3, 3)),
    "same": ("F.conv2d(x, w, b, 1, 'same')", (1, 64, 13, 11), (64, 64, 3, 3)),
}.items():
    row(f"conv_tiled_{name}", body, x=f32(*x), w=weight(weights(*w)), b=weight(f32(w[0])), **SUMS)
row("conv_tiled_layouts", "(F.conv2d(x, w, b, 1, 1), F.conv2d(x.transpose(2, 3), w, b, 1, 1), F.conv2d(x[:, :, 1:, ::2], w, b))",
    x=channels_last(f32(1, 48, 12, 16)), w=channels_last(weights(48, 48, 3, 3)), b=f32(48), **SUMS)
row("conv_tiled_shapes_change", "F.conv2d(x, w, b, 1, 1)", x=f32(1, 48, 16, 16), w=weight(weights(48, 48, 3, 3)), b=weight(f32(48)),
    also=[{"x": f32(3, 48, 5, 21)}, {"x": f32(1, 48, 1, 1)}, {"x": f32(1, 48, 40, 7)}], **SUMS)
row("conv_tiled_special", "F.relu(F.conv2d(x, w, b, 1, 1))", x=nonfinite(1, 40, 17, 18), w=weight(weights(48, 40, 3, 3)),
    b=weight(f32(48)), **SUMS)
row("conv_tiled_special_weight", "F.conv2d(x, w * 0.1, b, 1, 1)", x=f32(1, 40, 17, 18), w=nonfinite(48, 40, 3, 3), b=f32(48), **SUMS)
row("conv_tiled_large_pixels", """
y = F.conv2d(x * s, w, b, 1, 1)
return y[..., :5], y[..., 8:]  # who does not see them is as exact as without""",
    x=f32(1, 40, 13, 16), s=tensor([1.0] * 6 + [1e9, 0.0] + [1.0] * 8), w=weight(weights(48, 40, 3, 3)), b=weight(f32(48)), **SUMS)

# Squeeze-and-excitation: the convolution scales its weight, or its input where that is smaller.
EXCITED = """
s = torch.sigmoid(F.conv2d(v.mean([2, 3], True), g))
return F.{}conv2d(x * s, w, b){}"""
for name, (body, make, x, g, w) in {
    "weight": (EXCITED.format("", ""), f32, (24, 9, 7), 24, 10),
    "more_outputs": (EXCITED.format("relu(F.", ")"), f32, (21, 5, 6), 21, 29),
    "one_number": (EXCITED.format("", ""), f32, (24, 9, 7), 1, 10),
    "rows": (EXCITED.replace("[2, 3]", "[3]").format("", ""), f32, (24, 9, 7), 24, 10),
    "special": (EXCITED.format("", ""), nonfinite, (24, 9, 7), 24, 10),
}.items():
    row(f"conv_scaled_{name}", body, x=channels_last(make(1, *x)), v=f32(1, *x), g=weight(weights(g, x[0], 1, 1)),
        w=weight(weights(w, x[0], 1, 1)), b=weight(f32(w)),
        also=[{"x": make(1, *x)}, {"x": noncontig(make(1, *x))}, {"x": channels_last(make(2, *x)), "v": f32(2, *x)}, {"v": f32(2, *x)}]
        + ([] if name == "rows" else [{"x": f32(1, x[0], 1, 1)}, {"x": f32(0, *x)}]))
row("conv_scaled_unbatched", EXCITED.replace("[2, 3]", "[1, 2]").format("", ""), x=f32(24, 9, 7), v=f32(24, 3, 3),
    g=weight(weights(24, 24, 1, 1)), w=weight(weights(10, 24, 1, 1)), b=weight(f32(10)))
row("conv_scaled_doubles", EXCITED.format("", ""), x=f64(1, 24, 9, 7), v=f64(1, 24, 2, 2), g=weight(f64(24, 24, 1, 1)), w=weight(f64(10, 24, 1, 1)), b=weight(f64(10)))
row("conv_scaled_of_conv", """
y = torch.relu(F.conv2d(x, v, None, 1, 1))
s = F.hardsigmoid(F.conv2d(F.adaptive_avg_pool2d(y, [1, 1]), g))
y = F.conv2d(s * y, w, b)
return y, y.stride()""",
    x=f32(1, 3, 16, 15), v=weight(weights(24, 3, 3, 3)), g=weight(weights(24, 24, 1, 1)), w=weight(weights(10, 24, 1, 1)), b=weight(f32(10)),
    also=[{"x": channels_last(f32(1, 3, 16, 15))}, {"x": f32(2, 3, 4, 5)}])
row("conv_scaled_wrong", "F.conv2d(x * torch.sigmoid(F.conv2d(v.mean([2, 3], True), g)), w)", x=f32(1, 12, 6, 5), v=f32(1, 5, 3, 3),
    g=weight(weights(7, 5, 1, 1)), w=weight(weights(10, 12, 1, 1)), raises="must match the size of tensor b")

# Empty convolutions.
row("conv_no_batch", "F.conv2d(x, w, b)", x=f32(0, 2, 5, 5), w=weight(f32(3, 2, 3, 3)), b=weight(f32(3)))
row("conv_unbatched", "F.conv2d(x, w, b)", x=f32(2, 5, 5), w=weight(f32(3, 2, 3, 3)), b=weight(f32(3)))
row("conv_1d_unbatched", "F.conv1d(x, w)", x=f32(2, 9), w=weight(f32(3, 2, 3)))
row("conv_transposed_unbatched", "F.conv_transpose2d(x, w, None, 2)", x=f32(2, 3, 3), w=weight(f32(2, 3, 3, 3)))

for name, message, body, x, w in [
    ("input_too_small", "Kernel size can't be greater than actual input size", "F.conv2d(x, w)", (1, 2, 2, 5), (3, 2, 3, 3)),
    ("empty_input", "Calculated padded input size per channel: (0 x 5)", "F.conv2d(x, w)", (1, 2, 0, 5), (3, 2, 3, 3)),
    ("wrong_channels", "to have 3 channels, but got 2 channels instead", "F.conv2d(x, w)", (1, 2, 5, 5), (3, 3, 3, 3)),
    ("wrong_groups", "expected weight to be divisible by 2", "F.conv2d(x, w, groups=2)", (1, 2, 5, 5), (3, 1, 3, 3)),
    ("wrong_rank", "Expected 3D (unbatched) or 4D (batched) input to conv2d", "F.conv2d(x, w)", (5, 5), (3, 2, 3, 3)),
    ("stride_0", "non-positive stride", "F.conv2d(x, w, None, 0)", (1, 2, 5, 5), (3, 2, 3, 3)),
    ("negative_padding", "negative padding", "F.conv2d(x, w, None, 1, -1)", (1, 2, 5, 5), (3, 2, 3, 3)),
    ("same_stride", "strided convolutions", "F.conv2d(x, w, None, 2, 'same')", (1, 2, 5, 5), (3, 2, 3, 3)),
    ("output_padding", "output padding must be smaller", "F.conv_transpose2d(x, w, None, 2, 0, 2)", (1, 2, 5, 5), (2, 3, 3, 3)),
    ("transposed_too_small", "Output size is too small", "F.conv_transpose2d(x, w, None, 1, 4)", (1, 2, 5, 5), (2, 3, 3, 3)),
]:
    row(f"conv_refuses_{name}", body, x=f32(*x), w=weight(f32(*w)), raises=message)
row("conv_refuses_wrong_bias", "F.conv2d(x, w, b)", x=f32(1, 2, 5, 5), w=weight(f32(3, 2, 3, 3)), b=weight(f32(4)),
    raises="expected bias to be 1-dimensional with 3 elements")
row("conv_refuses_bool", "F.conv2d(x, w)", x=b8(1, 2, 5, 5), w=b8(3, 2, 3, 3), raises="not implemented for 'Bool'")
row("conv_refuses_mixed_dtypes", "F.conv2d(x, w)", x=f64(1, 2, 5, 5), w=weight(f32(3, 2, 3, 3)), raises="")
