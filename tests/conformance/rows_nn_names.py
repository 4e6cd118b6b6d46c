"""Operators that torch.nn.functional replaces with others, called by their own names (one_operator.py)."""
from conformance import *

CONV = dict(x=f32(2, 4, 7, 6), w=f32(6, 2, 3, 2), b=f32(6))
row("name_convolution", "aten::convolution(x, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 2)", also=[{"b": None}], **CONV)
row("name_convolution_of_old", "aten::_convolution.deprecated(x, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 2, False, False, True)", **CONV)
row("name_convolution_with_flags", "aten::_convolution(x, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 2, False, False, True, True)", **CONV)
row("name_convolution_transposed", "aten::convolution(x, w, b, [2, 1], [1, 0], [1, 1], True, [1, 0], 1)", x=f32(2, 4, 5, 6), w=f32(4, 3, 3, 2), b=f32(3))
for padding in ("same", "valid"):
    row(f"name_convolution_mode_{padding}", f"aten::_convolution_mode(x, w, b, [1, 1], '{padding}', [1, 2], 2)", **CONV)
    row(f"name_conv3d_{padding}", f"aten::conv3d.padding(x, w, b, padding='{padding}')", x=f32(1, 2, 5, 4, 6), w=f32(3, 2, 3, 1, 2), b=f32(3))
for n in (2, 3):
    row(f"name_adaptive_avg_pool{n}d", f"aten::_adaptive_avg_pool{n}d(x, s)", x=f32(2, 3, *[7, 5, 6][:n]), s=[3, 2, 4][:n], also=[{"s": [1] * n}])
for n in (1, 2, 3):
    sides, x = [1, 2, 0, 1, 1, 1][:2 * n], f32(2, 3, *[5, 4, 6][:n])
    for kind in ("reflection", "replication"):
        row(f"name_{kind}_pad{n}d", f"aten::{kind}_pad{n}d(x, p)", x=x, p=sides, also=[{"p": [0] * 2 * n}, {"x": noncontig(x)}])
row("name_pad_circular", "aten::_pad_circular(x, p)", x=f32(2, 3, 5, 4), p=[1, 2, 0, 1])

UPSAMPLE = {"upsample_nearest2d": 2, "upsample_nearest3d": 3, "_upsample_nearest_exact1d": 1, "_upsample_nearest_exact2d": 2, "_upsample_nearest_exact3d": 3,
            "upsample_bilinear2d": 2, "upsample_trilinear3d": 3, "upsample_bicubic2d": 2, "_upsample_bilinear2d_aa": 2, "_upsample_bicubic2d_aa": 2}
for name, n in UPSAMPLE.items():
    align = "" if "nearest" in name else ", False"
    row(f"name_{name.strip('_')}", f"aten::{name}(x, s{align})", x=f32(2, 3, *[5, 4, 6][:n]), s=[7, 3, 9][:n], also=[{"s": [5, 4, 6][:n]}])
for n in (1, 3):
    row(f"name_upsample_nearest_exact{n}d_by_scales", f"aten::_upsample_nearest_exact{n}d.vec(x, None, f)", x=f32(2, 3, *[5, 4, 6][:n]), f=[1.5, 2.0, 0.5][:n])

row("name_channel_shuffle", "aten::native_channel_shuffle(x, 2)", x=f32(2, 6, 3, 2))
for name in ("softmax", "log_softmax"):
    row(f"name_special_{name}", f"aten::special_{name}(x, d)", x=f32(3, 5), d=1, also=[{"d": 0}])
    row(f"name_{name}_plain", f"aten::_{name}(x, d, False)", x=f32(3, 5), d=1, also=[{"d": 0}, {"x": f64(2, 3)}])
row("name_layer_norm", "aten::native_layer_norm(x, [5], w, b, 1e-5)", x=f32(3, 5), w=f32(5), b=f32(5), also=[{"w": None, "b": None}])
row("name_group_norm", "aten::native_group_norm(x, w, b, 2, 6, 4, 3, 1e-5)", x=f32(2, 6, 4), w=f32(6), b=f32(6), also=[{"w": None, "b": None}])
row("name_batch_norm_in_evaluation", "aten::_native_batch_norm_legit_no_training(x, w, b, m, v, 0.1, 1e-5)", x=f32(2, 3, 4), w=f32(3), b=f32(3), m=f32(3), v=f32(3, lo=0.5, hi=2))
row("name_rnn_relu_packed", "aten::rnn_relu.data(x, n, h, p, True, 1, 0.0, False, False)", x=f32(5, 3), n=tensor([2, 2, 1], "i64"), h=f32(1, 2, 4),
    p=[f32(4, 3), f32(4, 4), f32(4), f32(4)])
for name in ("bilinear", "bicubic"):
    row(f"name_upsample_{name}_one_side", f"aten::_upsample_{name}2d_aa(x, s, False, None, f)", x=f32(1, 2, 6, 4), s=[3, 4], f=1.3,
        also=[{"x": tensor([[[[1.0, NAN, 3.0, INF], [1.0, 2.0, 3.0, 4.0]]]]), "s": [3, 4]}])
