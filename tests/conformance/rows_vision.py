"""torchvision's operators: nms, regions of interest, deformable convolution."""
import torch
import torchvision  # noqa: F401 - registers them
from conformance import *
from conformance import Input

NMS = "torch.ops.torchvision.nms(b, s, t)"


def boxes(n, dtype="f32", size=20.0):
    """Makes n boxes [x1, y1, x2, y2] with positive sides, many of which overlap."""
    def make(g, _):
        corner = torch.rand(n, 2, generator=g, dtype=torch.float64) * size
        return torch.cat([corner, corner + 1 + torch.rand(n, 2, generator=g, dtype=torch.float64) * size], 1).to(DTYPES[dtype])
    return Input(f"boxes({n}, {dtype!r}, {size})", make)


def regions(n, images, dtype="f32", size=20.0):
    """Makes n regions [image, x1, y1, x2, y2], some of which extend past the image."""
    def make(g, _):
        box = boxes(n, dtype, size).make(g, None) - 3
        return torch.cat([torch.randint(0, images, (n, 1), generator=g).to(box), box], 1)
    return Input(f"regions({n}, {images}, {dtype!r}, {size})", make)


# ---- nms -----------------------------------------------------------------------------------------

for n in (0, 1, 2, 17, 300):
    for dtype in FLOATS:
        row(f"nms_{dtype}_{n}", NMS, b=boxes(n, dtype), s=random(dtype, n), t=0.5, also=[{"t": 0.0}, {"t": 0.9}, {"t": 1.0}])
row("nms_equal_scores_in_their_order", NMS, b=boxes(100), s=of("torch.arange(100).remainder(3).float()"), t=0.3)
row("nms_equal_boxes", NMS, b=of("torch.tensor([[1., 2., 5., 7.]]).repeat(40, 1)"), s=of("torch.arange(40).remainder(7).float()"), t=0.5)
row("nms_special_scores", NMS, b=boxes(30), s=special(30), t=0.4)
row("nms_special_boxes", NMS, b=special(25, 4), s=f32(25), t=0.4)
row("nms_without_area", NMS, b=tensor([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 2, 2], [2, 2, 0, 0], [0.5, 0, 2, 2]]), s=f32(5), t=0.0)
row("nms_strided", NMS, b=transposed(boxes(20)), s=noncontig(f32(20)), t=0.5)
row("nms_exactly_the_threshold_stays", NMS, b=tensor([[0, 0, 2, 2], [0, 0, 2, 1]]), s=tensor([2, 1]), t=0.5)
row("nms_of_integers", NMS, b=i64(4, 4), s=i64(4), t=0.5, raises="not implemented for 'Long'")
row("nms_of_halves", NMS, b=random("f16", 4, 4), s=random("f16", 4), t=0.5, raises="not implemented for 'Half'")
row("nms_two_dtypes", NMS, b=f32(4, 4), s=f64(4), t=0.5, raises="dets should have the same type as scores")
row("nms_flat_boxes", NMS, b=f32(4), s=f32(4), t=0.5, raises="boxes should be a 2d tensor, got 1D")
row("nms_five_numbers", NMS, b=f32(4, 5), s=f32(4), t=0.5, raises="boxes should have 4 elements in dimension 1, got 5")
row("nms_deep_scores", NMS, b=f32(4, 4), s=f32(4, 1), t=0.5, raises="scores should be a 1d tensor, got 2D")
row("nms_few_scores", NMS, b=f32(4, 4), s=f32(3), t=0.5, raises="same number of elements in dimension 0, got 4 and 3")
BATCHED = """
    import_offsets = k.to(b) * (b.max() + torch.tensor(1).to(b))
    return torch.ops.torchvision.nms(b + import_offsets[:, None], s, t)
"""
row("batched_nms_by_offsets", BATCHED.replace("import_", ""), b=boxes(80), s=f32(80), k=i64(80, lo=0, hi=4), t=0.4)

# ---- Regions of interest ---------------------------------------------------------------------------

ALIGN = "torch.ops.torchvision.roi_align(x, r, scale, h, w, n, aligned)"
for dtype in FLOATS:
    for aligned in (False, True):
        for n in (-1, 0, 1, 2, 3):
            row(f"roi_align_{dtype}_{'aligned' if aligned else 'old'}_{n if n >= 0 else 'adaptive'}", ALIGN,
                x=random(dtype, 2, 5, 13, 17), r=regions(7, 2, dtype), scale=0.5, h=3, w=4, n=n, aligned=aligned,
                also=[{"scale": 1.0, "h": 1, "w": 1}, {"scale": 0.0625}])
for layout in ("strided", "turned", "nhwc"):
    row(f"roi_align_{layout}", ALIGN, x=LAYOUTS[layout](f32(2, 5, 13, 17), (2, 5, 13, 17)), r=noncontig(regions(5, 2)),
        scale=1.0, h=2, w=3, n=2, aligned=True)
    row(f"roi_pool_{layout}", "torch.ops.torchvision.roi_pool(x, r, scale, h, w)", r=transposed(regions(5, 2)),
        x=LAYOUTS[layout](f32(2, 5, 13, 17), (2, 5, 13, 17)), scale=1.0, h=2, w=3)
row("roi_align_after_a_convolution", "torch.ops.torchvision.roi_align(F.conv2d(x, k), r, 1.0, 3, 3, 2, False)",
    x=channels_last(f32(1, 3, 12, 12)), k=weight(f32(8, 3, 3, 3)), r=regions(4, 1, size=9.0))
#: Points, inverted regions, and regions that are empty, far outside or larger than the image.
ODD = tensor([[0, 2, 2, 2, 2], [1, 5, 5, 3, 2], [0, -30, -30, -20, -20], [1, 100, 100, 120, 120], [0, -9, -9, 40, 40],
              [0, 1.5, 2.5, 4.5, 3.5], [1, 0, 0, 13, 13], [0, -1, -1, 0, 0], [0, 12, 16, 13, 17]])
for n in (-1, 2):
    for aligned in (False, True):
        row(f"roi_align_odd_{'adaptive' if n < 0 else n}_{'aligned' if aligned else 'old'}", ALIGN, x=f32(2, 3, 13, 17), r=ODD,
            scale=1.0, h=2, w=2, n=n, aligned=aligned)
row("roi_align_no_regions", ALIGN, x=f32(2, 3, 5, 5), r=f32(0, 5), scale=1.0, h=2, w=2, n=2, aligned=False)
row("roi_align_no_channels", ALIGN, x=f32(2, 0, 5, 5), r=regions(3, 2), scale=1.0, h=2, w=2, n=2, aligned=False)
row("roi_align_to_nothing", ALIGN, x=f32(2, 3, 5, 5), r=regions(3, 2), scale=1.0, h=0, w=2, n=2, aligned=False)
row("roi_align_special", ALIGN, x=special(1, 2, 6, 6), r=of("torch.tensor([[0., 1., 1., 4., 4.]])"), scale=1.0, h=3, w=3, n=1, aligned=False)
row("roi_align_many_samples", ALIGN, x=f32(1, 2, 40, 50), r=of("torch.tensor([[0., 1.3, 2.2, 48.1, 37.7]])"), scale=1.0, h=2, w=2, n=-1, aligned=True)
row("roi_align_two_dtypes", ALIGN, x=f32(1, 2, 5, 5), r=f64(2, 5), scale=1.0, h=2, w=2, n=2, aligned=False, raises="to have the same type")
row("roi_align_four_numbers", ALIGN, x=f32(1, 2, 5, 5), r=f32(2, 4), scale=1.0, h=2, w=2, n=2, aligned=False, raises="rois must have shape")

POOL = "torch.ops.torchvision.{}(x, r, scale, h, w)"
for dtype in FLOATS:
    row(f"roi_pool_{dtype}", POOL.format("roi_pool"), x=random(dtype, 2, 5, 13, 17), r=regions(7, 2, dtype), scale=0.5, h=3, w=4,
        also=[{"scale": 1.0, "h": 1, "w": 1}, {"scale": 0.0625}])
    row(f"ps_roi_pool_{dtype}", POOL.format("ps_roi_pool"), x=random(dtype, 2, 36, 13, 17), r=regions(7, 2, dtype), scale=0.5, h=3, w=4,
        also=[{"scale": 1.0, "h": 1, "w": 1}, {"scale": 0.0625, "h": 3, "w": 3}])
    for n in (-1, 2):
        row(f"ps_roi_align_{dtype}_{'adaptive' if n < 0 else n}", "torch.ops.torchvision.ps_roi_align(x, r, scale, h, w, n)",
            x=random(dtype, 2, 36, 13, 17), r=regions(7, 2, dtype), scale=0.5, h=3, w=4, n=n,
            also=[{"scale": 1.0, "h": 1, "w": 1}, {"scale": 0.0625, "h": 3, "w": 3}])
row("roi_pool_odd", POOL.format("roi_pool"), x=f32(2, 3, 13, 17), r=ODD, scale=1.0, h=2, w=2)
row("roi_pool_ties_take_the_first", POOL.format("roi_pool"), x=i64(1, 2, 9, 9, lo=0, hi=2), r=regions(4, 1, size=6.0), scale=1.0, h=2, w=2,
    raises="")
row("roi_pool_special", POOL.format("roi_pool"), x=special(1, 2, 6, 6), r=of("torch.tensor([[0., 1., 1., 4., 4.]])"), scale=1.0, h=3, w=3)
row("ps_roi_pool_odd", POOL.format("ps_roi_pool"), x=f32(2, 8, 13, 17), r=ODD, scale=1.0, h=2, w=2)
row("ps_roi_align_odd", "torch.ops.torchvision.ps_roi_align(x, r, 1.0, 2, 2, n)", x=f32(2, 8, 13, 17), r=ODD, n=-1, also=[{"n": 2}])
row("ps_roi_pool_no_regions", POOL.format("ps_roi_pool"), x=f32(2, 8, 5, 5), r=f32(0, 5), scale=1.0, h=2, w=2)
row("ps_roi_pool_odd_channels", POOL.format("ps_roi_pool"), x=f32(2, 7, 5, 5), r=regions(2, 2), scale=1.0, h=2, w=2,
    raises="input channels must be a multiple of pooling height * pooling width")

# ---- Deformable convolution ------------------------------------------------------------------------

SUMS = dict(atol=1e-5, why="sums of 54 products that cancel, in another order: 4e-6 of answers up to 10 was measured")
DEFORM = "torch.ops.torchvision.deform_conv2d(x, k, o, m, b, {stride}, {padding}, {dilation}, {groups}, {offsets}, {masked})"


def deform(name, images=2, channels=6, outs=4, size=(9, 11), kernel=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1,
           offsets=1, masked=True, dtype="f32", far=1.0, of_x="x", **options):
    height, width = ((size[k] + 2 * padding[k] - dilation[k] * (kernel[k] - 1) - 1) // stride[k] + 1 for k in (0, 1))
    taps = offsets * kernel[0] * kernel[1]
    inputs = {"x": random(dtype, images, channels, *size), "k": random(dtype, outs, channels // groups, *kernel),
              "o": random(dtype, images, 2 * taps, height, width, lo=-far, hi=far), "b": random(dtype, outs),
              "m": random(dtype, images, taps, height, width) if masked else random(dtype, images, 1)}
    body = DEFORM.replace("(x,", f"({of_x},").format(stride=f"{stride[0]}, {stride[1]}", padding=f"{padding[0]}, {padding[1]}", groups=groups, offsets=offsets,
                         dilation=f"{dilation[0]}, {dilation[1]}", masked=masked)
    row(f"deform_conv2d_{name}", body, **{**inputs, **(SUMS if dtype == "f32" and "raises" not in options else {}), **options})


for dtype in FLOATS:
    deform(f"{dtype}_mask", dtype=dtype)
    deform(f"{dtype}_plain", dtype=dtype, masked=False)
deform("far", far=20.0)
deform("strides", stride=(2, 3), padding=(0, 2), dilation=(2, 1))
deform("kernel_1x2", kernel=(1, 2), padding=(0, 0))
deform("groups", groups=2, offsets=3)
deform("one_image", images=1)
deform("no_images", images=0)
deform("many_images", images=5, outs=9, groups=3, offsets=2)
deform("channels_last", x=channels_last(f32(2, 6, 9, 11)))
deform("strided", x=noncontig(f32(2, 6, 9, 11)), k=transposed(f32(4, 6, 3, 3)), b=noncontig(f32(4)))
deform("no_offset_is_a_convolution", o=of("torch.zeros(2, 18, 9, 11)"))
deform("special", x=special(2, 6, 9, 11), of_x="x / 1000")  # the order of summation decides whether a sum of the greatest floats overflows
deform("wrong_offset", o=f32(2, 16, 9, 11), raises="offset.shape[1] is not valid: got: 16 expected: 18")
deform("wrong_batch", o=f32(3, 18, 9, 11), raises="invalid batch size of offset")
deform("wrong_offset_size", o=f32(2, 18, 9, 10), raises="offset output dims: (9, 10) - computed output dims: (9, 11)")
deform("wrong_mask", m=f32(2, 8, 9, 11), raises="mask.shape[1] is not valid: got: 8 expected: 9")
deform("wrong_mask_size", m=f32(2, 9, 8, 11), raises="mask output dims: (8, 11) - computed output dims: (9, 11)")
