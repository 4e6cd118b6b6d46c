"""Pools, padding, resampling and shuffles."""

from conformance import *

# name: (body, sizes, dtypes)
POOLS = {
    "max_2x2": ("F.max_pool2d(x, 2)", (2, 5, 6, 7), ("f32", "f64", "i64", "i32", "u8")),
    "max_3x3_s2_p1": ("F.max_pool2d(x, 3, 2, 1)", (1, 9, 7, 8), ("f32", "i64")),
    "max_ceil": ("F.max_pool2d(x, 3, 2, 1, 1, True)", (1, 4, 8, 6), ("f32",)),
    "max_dilated": ("F.max_pool2d(x, [2, 3], [1, 2], [0, 1], [2, 1])", (1, 4, 7, 8), ("f32",)),
    "max_with_indices": ("F.max_pool2d(x, 3, 2, 1, return_indices=True)", (2, 3, 7, 5), ("f32", "i64")),
    "max_1d": ("F.max_pool1d(x, 3, 2, 1)", (2, 4, 11), ("f32", "f64")),
    "max_1d_ceil": ("F.max_pool1d(x, 2, 3, 0, 1, True)", (4, 10), ("f32",)),
    "max_3d": ("F.max_pool3d(x, 2, 1, 1)", (1, 3, 4, 3, 5), ("f32", "i64")),
    "max_unbatched": ("F.max_pool2d(x, 2, 1)", (5, 4, 6), ("f32",)),
    "avg_2x2": ("F.avg_pool2d(x, 2)", (2, 5, 6, 7), ("f32", "f64", "i64")),
    "avg_3x3_s2_p1": ("F.avg_pool2d(x, 3, 2, 1)", (1, 9, 7, 8), ("f32",)),
    "avg_ceil": ("F.avg_pool2d(x, 3, 2, 1, True)", (1, 4, 8, 6), ("f32", "i64")),
    "avg_valid_only": ("F.avg_pool2d(x, 3, 2, 1, True, False)", (1, 4, 8, 6), ("f32",)),
    "avg_divisor": ("F.avg_pool2d(x, [2, 3], 1, [1, 0], False, True, 5)", (1, 4, 5, 6), ("f32",)),
    "avg_1d": ("F.avg_pool1d(x, 3, 2, 1)", (2, 4, 11), ("f32", "i64")),
    "avg_3d": ("F.avg_pool3d(x, [1, 2, 2], 2, [0, 1, 1], False, False)", (1, 3, 4, 3, 5), ("f32",)),
    "adaptive_avg_1": ("F.adaptive_avg_pool2d(x, 1)", (2, 9, 7, 7), ("f32", "f64")),
    "adaptive_avg_3x2": ("F.adaptive_avg_pool2d(x, [3, 2])", (1, 5, 7, 5), ("f32", "f64")),
    "adaptive_avg_grows": ("F.adaptive_avg_pool2d(x, [5, 4])", (1, 5, 3, 2), ("f32",)),
    "adaptive_avg_0": ("F.adaptive_avg_pool2d(x, 0)", (1, 5, 3, 4), ("f32",)),
    "adaptive_avg_1d": ("F.adaptive_avg_pool1d(x, 4)", (2, 3, 11), ("f32",)),
    "adaptive_avg_3d": ("F.adaptive_avg_pool3d(x, [2, 1, 3])", (1, 2, 3, 4, 5), ("f32",)),
    "adaptive_max_3x2": ("F.adaptive_max_pool2d(x, [3, 2], return_indices=True)", (1, 5, 7, 5), ("f32", "f64")),
    "adaptive_max_1d": ("F.adaptive_max_pool1d(x, 4)", (2, 3, 11), ("f32",)),
    "adaptive_max_3d": ("F.adaptive_max_pool3d(x, 2)", (1, 2, 3, 4, 5), ("f32",)),
}
for name, (body, sizes, dtypes) in POOLS.items():
    for dtype in dtypes:
        row(f"pool_{name}_{dtype}", body, x=random(dtype, *sizes))
    row(f"pool_{name}_layouts", body, x=channels_last(f32(*sizes)) if len(sizes) == 4 and "unbatched" not in name else transposed(f32(*sizes)),
        also=[{"x": noncontig(f32(*sizes))}])
    row(f"pool_{name}_special", body, x=nonfinite(*sizes))
for pool in ("F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 2)"):
    row(f"pool_no_batch_{pool[2:7]}_{'adaptive' in pool}", pool, x=f32(0, 3, 5, 5))
row("pool_of_a_convolution", "F.max_pool2d(F.conv2d(x, w, None, 1, 1), 3, 2, 1)", x=f32(1, 3, 9, 8), w=weight(f32(6, 3, 3, 3)))
row("pool_global_large", "F.adaptive_avg_pool2d(x, 1)", x=f32(1, 6, 40, 41))
row("pool_all_minus_infinity", "F.max_pool2d(x, 2, return_indices=True)", x=tensor([[[[-INF, -INF], [-INF, -INF]]]]))

for name, message, body, sizes in [
    ("too_small", "Output size is too small", "F.max_pool2d(x, 6)", (1, 2, 5, 5)),
    ("much_padding", "pad should be at most half", "F.max_pool2d(x, 3, 1, 2)", (1, 2, 5, 5)),
    ("stride_0", "stride should not be zero", "F.max_pool2d(x, 2, 0)", (1, 2, 5, 5)),
    ("no_divisor", "divisor must be not zero", "F.avg_pool2d(x, 2, divisor_override=0)", (1, 2, 5, 5)),
    ("empty", "with optional 0 dim batch size for input", "F.max_pool2d(x, 2)", (1, 2, 0, 5)),
    ("adaptive_empty", "non-zero size for non-batch dimensions", "F.adaptive_avg_pool2d(x, 2)", (1, 2, 0, 5)),
    ("adaptive_rank", "", "F.adaptive_avg_pool2d(x, 2)", (5, 5)),
]:
    row(f"pool_refuses_{name}", body, x=f32(*sizes), raises=message)
row("pool_refuses_bool", "F.max_pool2d(x, 2)", x=b8(1, 2, 4, 4), raises="not implemented for 'Bool'")

# ---- Padding -------------------------------------------------------------------------------------

PADS = {
    "zeros": ("F.pad(x, [1, 2])", (3, 4)), "two_dims": ("F.pad(x, [1, 2, 0, 3])", (2, 3, 4)), "value": ("F.pad(x, [2, 1], value=3.0)", (2, 5)),
    "crops": ("F.pad(x, [-1, 2, 1, -2])", (2, 4, 5)), "only_crops": ("F.pad(x, [-1, -1])", (2, 5)), "all_dims": ("F.pad(x, [1, 0, 0, 1, 1, 1])", (2, 3, 2)),
    "nothing": ("F.pad(x, [0, 0])", (2, 3)), "of_empty": ("F.pad(x, [1, 1])", (2, 0)), "vector": ("F.pad(x, [2, 0])", (3,)),
}
for name, (body, sizes) in PADS.items():
    for dtype in ALL:
        row(f"pad_{name}_{dtype}", body, x=random(dtype, *sizes))
    row(f"pad_{name}_layouts", body, x=transposed(f32(*sizes)), also=[{"x": noncontig(f32(*sizes))}])
for mode in ("reflect", "replicate", "circular"):
    for name, (pad, sizes) in {"1d": ([2, 1], (2, 3, 5)), "2d": ([1, 2, 3, 0], (2, 3, 5, 4)), "3d": ([1, 1, 0, 2, 1, 0], (1, 2, 3, 4, 5)),
                               "unbatched": ([2, 2], (3, 4)), "nothing": ([0, 0], (2, 3, 5)), "front": ([3, 0, 0, 0], (1, 2, 4, 5))}.items():
        for dtype in ("f32", "f64", "i64", "u8"):
            row(f"pad_{mode}_{name}_{dtype}", f"F.pad(x, {pad}, '{mode}')", x=random(dtype, *sizes))
        row(f"pad_{mode}_{name}_layouts", f"F.pad(x, {pad}, '{mode}')", x=transposed(f32(*sizes)), also=[{"x": noncontig(f32(*sizes))}])
row("pad_infinity", "F.pad(x, [1, 1], value=float('-inf'))", x=f32(2, 3))
row("pad_sizes_are_computed", "F.pad(x, [0, x.size(0) - x.size(1)])", x=f32(5, 3), also=[{"x": f32(4, 4)}, {"x": f32(3, 5)}])
row("pad_refuses_odd", "F.pad(x, [1])", x=f32(2, 3), raises="Length of pad must be even")
row("pad_refuses_reflecting_all", "F.pad(x, [3, 0], 'reflect')", x=f32(1, 2, 3), raises="Padding size should be less")
row("pad_refuses_two_rounds", "F.pad(x, [4, 0], 'circular')", x=f32(1, 2, 3), raises="wrapping around more than once")
row("pad_replicates_the_last_to_go", "F.pad(x, [-5, 7, 6, -3], 'replicate'), F.pad(x, [-3, 4, -1, 2], 'replicate'), F.pad(x, [9, -4, 0, 0], 'replicate')", x=f32(2, 2, 4))
row("pad_refuses_negative_size", "F.pad(x, [-2, -2])", x=f32(2, 3), raises="")

# ---- Interpolation -------------------------------------------------------------------------------

# Weights are float32 in PyTorch and double here, so cubic sums of 16 products differ by a few units in the last place.
CUBIC = dict(atol=1e-5, why="taps of both signs cancel, and are multiplied in another order: 1.8 times the default was measured")
for name, (mode, sizes) in {"nearest_1d": ("nearest", (2, 3, 5)), "nearest_2d": ("nearest", (2, 3, 5, 4)), "nearest_3d": ("nearest", (1, 2, 3, 4, 2)),
                            "exact_2d": ("nearest-exact", (2, 3, 5, 4)), "linear": ("linear", (2, 3, 5)), "bilinear": ("bilinear", (2, 3, 5, 4)),
                            "trilinear": ("trilinear", (1, 2, 3, 4, 2)), "bicubic": ("bicubic", (2, 3, 5, 4))}.items():
    smooth = not mode.startswith("nearest")
    tolerance = CUBIC if mode == "bicubic" else {}
    for how in ("scale_factor=2.0", "scale_factor=1.7", "scale_factor=0.6", "size=[SIZE]", "scale_factor=2.3, recompute_scale_factor=True"):
        size = ", ".join(["7", "9", "3"][:len(sizes) - 2])
        text = how.replace("SIZE", size)
        tag = how.split("[")[0].replace("=", "_").replace(".", "").replace(", ", "_")
        for corners in (("", ", align_corners=True") if smooth else ("",)):
            body = f"F.interpolate(x, {text}, mode='{mode}'{corners})"
            row(f"interpolate_{name}_{tag}{'_corners' if corners else ''}", body, x=f32(*sizes), **tolerance)
    body = f"F.interpolate(x, scale_factor=2.0, mode='{mode}')"
    row(f"interpolate_{name}_f64", body, x=f64(*sizes))
    row(f"interpolate_{name}_layouts", body, x=channels_last(f32(*sizes)) if len(sizes) == 4 else transposed(f32(*sizes)),
        also=[{"x": noncontig(f32(*sizes))}], **tolerance)
for mode in ("bilinear", "bicubic"):
    tolerance = CUBIC if mode == "bicubic" else {}
    for name, how in {"half": "scale_factor=0.5", "third": "scale_factor=0.3", "up": "scale_factor=1.7", "size": "size=[5, 40]",
                      "corners": "size=[5, 4], align_corners=True", "recomputed": "scale_factor=0.4, recompute_scale_factor=True"}.items():
        row(f"interpolate_{mode}_antialias_{name}", f"F.interpolate(x, {how}, mode='{mode}', antialias=True)", x=f32(2, 3, 17, 13), **tolerance)
    body = f"F.interpolate(x, size=[3, 9], mode='{mode}', antialias=True)"
    row(f"interpolate_{mode}_antialias_layouts", body, x=channels_last(f32(2, 5, 11, 8)), also=[{"x": noncontig(f32(2, 5, 11, 8))}, {"x": f32(1, 1, 1, 1)}], **tolerance)
    row(f"interpolate_{mode}_antialias_f64", body, x=f64(1, 2, 11, 8))
    row(f"interpolate_{mode}_antialias_specials", body, x=tensor([[[[float("inf")] + [1.0] * 20] + [[2.0] * 21] * 30]]), **tolerance)
    row(f"interpolate_{mode}_antialias_no_pictures", body, x=f32(0, 2, 11, 8))
# uint8 is resized in integers and rounded between width and height. One pixel is left out: PyTorch's AVX kernel asserts.
for mode in ("bilinear", "bicubic"):
    tolerance = CUBIC if mode == "bicubic" else {}
    for name, how in {"up": "size=[9, 13]", "down": "size=[3, 4]", "mixed": "size=[3, 13]", "scale": "scale_factor=[1.7, 0.6]", "same": "size=[7, 8]",
                      "corners": "size=[9, 13], align_corners=True", "to_two": "size=[1, 2]", "antialias": "size=[3, 5], antialias=True",
                      "antialias_up": "size=[11, 9], antialias=True"}.items():
        row(f"interpolate_{mode}_u8_{name}", f"F.interpolate(x, {how}, mode='{mode}')", x=u8(2, 3, 7, 8),
            also=[{"x": channels_last(u8(2, 5, 7, 8))}, {"x": noncontig(u8(2, 5, 7, 8))}])
    row(f"interpolate_{mode}_u8_of_one", f"F.interpolate(x, size=[4, 5], mode='{mode}')", x=u8(1, 2, 1, 1), also=[{"x": u8(1, 2, 1, 3)}, {"x": u8(1, 2, 2, 1)}])
row("interpolate_nearest_u8", "F.interpolate(x, scale_factor=2.0)", x=u8(1, 3, 4, 5))
row("interpolate_one_pixel", "F.interpolate(x, size=[4, 3], mode='bilinear')", x=f32(1, 5, 1, 1))
row("interpolate_many_channels", "F.interpolate(x, size=[9, 11], mode='bilinear')", x=channels_last(f32(1, 17, 5, 6)))
row("interpolate_like", "F.interpolate(x, size=y.shape[-2:], mode='bilinear', align_corners=False)", x=f32(1, 2, 4, 4), y=f32(1, 2, 7, 6))
row("interpolate_refuses_0", "F.interpolate(x, size=[0, 3])", x=f32(1, 2, 4, 4), raises="should be greater than 0")

# ---- Shuffles ------------------------------------------------------------------------------------

for dtype in ALL:
    row(f"pixel_shuffle_{dtype}", "F.pixel_shuffle(x, 2)", x=random(dtype, 2, 8, 3, 4))
    row(f"pixel_unshuffle_{dtype}", "F.pixel_unshuffle(x, 3)", x=random(dtype, 1, 2, 6, 9))
    row(f"channel_shuffle_{dtype}", "F.channel_shuffle(x, 3)", x=random(dtype, 2, 6, 3, 4))
row("pixel_shuffle_layouts", "F.pixel_shuffle(x, 3)", x=channels_last(f32(1, 18, 3, 2)), also=[{"x": noncontig(f32(1, 18, 3, 2))}])
row("pixel_unshuffle_layouts", "F.pixel_unshuffle(x, 2)", x=channels_last(f32(1, 3, 4, 6)), also=[{"x": transposed(f32(1, 3, 4, 6))}])
row("pixel_shuffle_rank_3", "F.pixel_shuffle(x, 2)", x=f32(4, 3, 2))
row("pixel_shuffle_rank_5", "F.pixel_shuffle(x, 2)", x=f32(2, 3, 4, 3, 2))
row("pixel_shuffle_refuses_channels", "F.pixel_shuffle(x, 2)", x=f32(1, 6, 2, 2), raises="divisible by the square of upscale_factor")
row("pixel_unshuffle_refuses_sizes", "F.pixel_unshuffle(x, 2)", x=f32(1, 6, 3, 2), raises="divisible by downscale_factor")
row("channel_shuffle_refuses_groups", "F.channel_shuffle(x, 4)", x=f32(1, 6, 3, 2), raises="divisible by groups")

# ---- grid_sample --------------------------------------------------------------------------------------

PADDINGS = ("zeros", "border", "reflection")


def sampled(mode, corners):
    calls = (f"F.grid_sample(x, g, mode='{mode}', padding_mode='{padding}', align_corners={corners})" for padding in PADDINGS)
    return ", ".join(calls)


ENDS = [-1.0, 1.0, -1.5, 1.5, 0.0, 0.5, -7.25, 30.0, 1e4, -1e4, INF, -INF, NAN]
for corners in (False, True):
    tag = "_corners" if corners else ""
    for mode in ("bilinear", "nearest", "bicubic"):
        for name, x, places in (
            ("f32", f32(2, 3, 5, 7), (2, 4, 6)), ("f64", f64(1, 3, 5, 7), (1, 9, 1)), ("nhwc", channels_last(f32(2, 3, 5, 7)), (2, 4, 5)),
            ("strided", noncontig(f32(2, 3, 5, 7)), (2, 4, 5)), ("one_pixel", f32(1, 2, 1, 1), (1, 3, 3)), ("many", f32(2, 3, 16, 17), (2, 19, 23)),
        ):
            g = (f64 if name == "f64" else f32)(*places, 2, lo=-2.5, hi=2.5)
            row(f"grid_sample_{mode}_{name}{tag}", sampled(mode, corners), x=x, g=g)
        row(f"grid_sample_{mode}_ends{tag}", sampled(mode, corners), x=f32(1, 2, 4, 5), g=tensor([[[[a, 0.3] for a in ENDS], [[0.3, a] for a in ENDS]]]))
        row(f"grid_sample_{mode}_none{tag}", sampled(mode, corners), x=f32(0, 3, 5, 7), g=f32(0, 4, 6, 2), also=[{"x": f32(1, 0, 5, 7), "g": f32(1, 4, 6, 2)}, {"x": f32(1, 2, 5, 7), "g": f32(1, 0, 6, 2)}])
    for mode in ("bilinear", "nearest"):
        row(f"grid_sample_{mode}_3d{tag}", sampled(mode, corners), x=f32(2, 3, 4, 5, 6), g=f32(2, 3, 2, 5, 3, lo=-2.5, hi=2.5), also=[{"x": f64(1, 2, 4, 5, 6), "g": f64(1, 3, 2, 5, 3, lo=-2, hi=2)}])
        row(f"grid_sample_{mode}_3d_ends{tag}", sampled(mode, corners), x=f32(1, 2, 3, 4, 5), g=tensor([[[[[a, 0.3, -0.1] for a in ENDS[:8]], [[0.3, -0.1, a] for a in ENDS[:8]]]]]))
for mode in ("bilinear", "nearest", "bicubic"):
    row(f"grid_sample_{mode}_blocks", f"""
x[:, :, 0, 0] = float('nan')  # who does not see it, does not get it
return F.grid_sample(x, g, '{mode}', align_corners=False), F.grid_sample(x, g * 0.5, '{mode}', align_corners=False)""",
        x=f32(2, 3, 9, 7), g=f32(2, 11, 13, 2, lo=-1.3, hi=1.3), mutates=True, also=[{"x": channels_last(f32(2, 3, 9, 7)), "g": f32(2, 1, 64, 2)}])
row("grid_sample_3d_blocks", "F.grid_sample(x, g, align_corners=False)", x=f32(2, 3, 4, 5, 6), g=f32(2, 3, 5, 7, 3, lo=-1.5, hi=1.5))
row("grid_sample_strided_grid", "F.grid_sample(x, g.permute(0, 2, 3, 1), align_corners=False), F.grid_sample(x.expand(2, 3, 5, 7), g[:1].permute(0, 2, 3, 1).expand(2, 4, 6, 2), align_corners=False)",
    x=f32(1, 3, 5, 7), g=f32(1, 2, 4, 6, lo=-2, hi=2))
row("grid_sampler_forms", "torch.grid_sampler(x, g, 0, 1, True), torch.grid_sampler_2d(x, g, 2, 0, False), torch.grid_sampler_3d(y, h, 1, 2, False)",
    x=f32(2, 3, 5, 7), g=f32(2, 4, 6, 2, lo=-2, hi=2), y=f32(1, 2, 3, 4, 5), h=f32(1, 2, 3, 4, 3, lo=-2, hi=2))
row("grid_sample_affine", "F.grid_sample(x, F.affine_grid(t, [2, 3, 6, 5], align_corners=False), align_corners=False)", x=f32(2, 3, 5, 7), t=f32(2, 2, 3))
row("grid_sample_other_batch", "F.grid_sample(x, g, align_corners=False)", x=f32(2, 3, 5, 7), g=f32(1, 4, 6, 2), raises="same batch size")
row("grid_sample_wrong_last", "F.grid_sample(x, g, align_corners=False)", x=f32(1, 3, 5, 7), g=f32(1, 4, 6, 3), raises="expected grid to have size 2 in last dimension")
row("grid_sample_empty_image", "F.grid_sample(x, g, align_corners=False)", x=f32(1, 3, 0, 7), g=f32(1, 4, 6, 2), raises="non-empty spatial dimensions")
row("grid_sample_cubic_3d", "torch.grid_sampler(x, g, 2, 0, False)", x=f32(1, 2, 3, 4, 5), g=f32(1, 2, 3, 4, 3), raises="bicubic interpolation only supports 4D input")
row("grid_sample_mixed", "F.grid_sample(x, g, align_corners=False)", x=f32(1, 3, 5, 7), g=f64(1, 4, 6, 2), raises="expected scalar type")
