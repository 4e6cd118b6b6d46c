"""Softmax and normalization."""
from conformance import *
from conformance import row as any_row


def row(name, body, **inputs):
    any_row(f"norm_{name}", body, **inputs)


SHAPES = (("1", (1,)), ("7", (7,)), ("0d", ()), ("empty", (3, 0)), ("matrix", (5, 17)), ("image", (2, 3, 4, 5)), ("long", (2, 1031)))
for name, shape in SHAPES:
    dims = sorted({0, len(shape) // 2, -1} if shape else {0, -1})
    dims = [d for d in dims if not shape or d < len(shape)]
    for op in ("softmax", "log_softmax"):
        row(f"{op}_{name}", ", ".join(f"torch.{op}(x, {d}), torch.{op}(y, {d})" for d in dims), x=f32(*shape), y=f64(*shape))
ODD = tensor([[NAN, 1, 2], [INF, 1, 2], [-INF, 1, 2], [INF, -INF, 0], [-INF, -INF, -INF], [100, 0, -100], [1e30, -1e30, 0]])
row("softmax_special", "torch.softmax(x, 1), torch.softmax(x, 0), torch.log_softmax(x, 1)", x=ODD)
row("softmax_strided", "torch.softmax(x, 1), torch.softmax(x, 2), torch.softmax(n, 1), torch.softmax(n.permute(0, 2, 3, 1), -1)",
    x=transposed(f32(3, 5, 7)), n=channels_last(f32(2, 3, 4, 5)))
row("softmax_dtype", "torch.softmax(x, 0, dtype=torch.float64), torch.softmax(i, 0, dtype=torch.float32)", x=f32(9), i=i64(9))
row("softmax_of_ints", "torch.softmax(x, 0)", x=i64(3), raises="not implemented for 'Long'")
row("softmax_wrong_dim", "torch.softmax(x, 2)", x=f32(3, 4), raises="Dimension out of range")
row("softmin", "F.softmin(x, 1)", x=f32(3, 9))

for dtype in FLOATS:
    w = {"w": random(dtype, 17), "b": random(dtype, 17)}
    row(f"layer_norm_{dtype}", "F.layer_norm(x, [17], w, b), F.layer_norm(x, [17]), F.layer_norm(x, [17], w), F.layer_norm(x[:0], [17], w, b), "
        "F.layer_norm(x[:, :, :1].expand(2, 3, 17), [17], w, b)", x=random(dtype, 2, 3, 17), **w)
    row(f"layer_norm_dims_{dtype}", "F.layer_norm(x, [3, 5]), F.layer_norm(x.transpose(1, 2), [5, 3]), F.layer_norm(x, [2, 3, 5])",
        x=random(dtype, 2, 3, 5))
    for name, layout in (("", lambda x: x), ("_nhwc", channels_last), ("_strided", noncontig)):
        x = layout(random(dtype, 2, 6, 5, 7))
        stats = {"m": random(dtype, 6), "v": random(dtype, 6, lo=0.5, hi=2)}
        scale = {"w": random(dtype, 6), "b": random(dtype, 6)}
        row(f"batch_norm_{dtype}{name}", "F.batch_norm(x, m, v, w, b), F.batch_norm(x, m, v), F.batch_norm(x, None, None, w, b, True), F.batch_norm(x[:0], m, v, w, b)",
            x=x, **stats, **scale)
        row(f"batch_norm_training_{dtype}{name}", "F.batch_norm(x, m, v, w, b, True), m.clone(), v.clone(), F.batch_norm(x, m, v, None, b, True, 0.7, 0.2), m.clone(), v.clone(), "
            "torch.batch_norm(x[:0], w, b, m, v, True, 0.1, 1e-5, False), torch.batch_norm(x, w, b, m, None, True, 0.1, 1e-5, False), m, v",
            x=x, **stats, **scale)
        row(f"batch_norm_legit_{dtype}{name}", "torch.native_batch_norm(x, w, b, m, v, True, 0.3, 1e-5), m.clone(), v.clone(), "
            "torch._native_batch_norm_legit(x, w, None, m, v, True, 0.3, 1e-5), m.clone(), v.clone(), torch._native_batch_norm_legit(x, w, b, True, 0.3, 1e-5), "
            "torch.ops.aten._native_batch_norm_legit_functional(x, w, b, m, v, True, 0.3, 1e-5), m, v",
            x=x, **stats, **scale)
        row(f"instance_norm_training_{dtype}{name}", "F.instance_norm(x, m, v, w, b, True, 0.3), m.clone(), v.clone(), F.instance_norm(x[:1], m, v, None, None), m, v",
            x=x, **stats, **scale)
        row(f"group_norm_{dtype}{name}", "F.group_norm(x, 1, w, b), F.group_norm(x, 2, w, b), F.group_norm(x, 3), F.group_norm(x, 6, w, b)",
            x=x, **scale)
        row(f"instance_norm_{dtype}{name}", "F.instance_norm(x), F.instance_norm(x, None, None, w, b), F.instance_norm(x, m, v, w, b, False)",
            x=x, **stats, **scale)
row("batch_norm_training_shapes", "torch.batch_norm(x, w, b, m[::2], v[::2], True, 0.1, 1e-5, False), m.clone(), v.clone(), torch.batch_norm(torch.ones_like(x[:1]), None, None, m[:3], v[:3], True, 0.1, 1e-5, False), "
    "m, v, torch.batch_norm(torch.ones_like(x), w, b, None, None, True, 0.1, 0.0, False)", x=f32(4, 3), w=f32(3), b=f32(3), m=f32(6), v=f32(6))
row("batch_norm_training_of_none", "torch.native_batch_norm(x[:0], None, None, m, m, True, 0.1, 1e-5)", x=f32(2, 3), m=f32(3), raises="must have at least one element")
row("batch_norm_training_wrong_size", "torch.batch_norm(x, None, None, m, m, True, 0.1, 1e-5, False)", x=f32(2, 3), m=f32(4), raises="should contain 3 elements not 4")
row("instance_norm_training_of_none", "torch.instance_norm(x[:0], None, None, m, v, True, 0.1, 1e-5, False), m, v", x=f32(2, 3, 4), m=f32(3), v=f32(3))
row("layer_norm_far_from_zero", "F.layer_norm(x, [300])", x=f32(4, 300, lo=1000, hi=1001), rtol=1e-3, atol=1e-3,
    why="the variance of numbers around 1,000 has four digits left: 2.4e-4 was measured")
row("layer_norm_wrong_shape", "F.layer_norm(x, [5])", x=f32(3, 4), raises="normalized_shape")
row("batch_norm_2d_3d", "F.batch_norm(x, m, v, w, b), F.batch_norm(x.unsqueeze(2).expand(4, 6, 5), m, v, w, b)",
    x=f32(4, 6), m=f32(6), v=f32(6, lo=0.5, hi=2), w=f32(6), b=f32(6))
row("group_norm_2d_3d", "F.group_norm(x, 2), F.group_norm(y, 3, w, b)", x=f32(4, 6), y=f32(2, 6, 9), w=f32(6), b=f32(6))
row("group_norm_does_not_divide", "F.group_norm(x, 4)", x=f32(2, 6, 3), raises="divisible by num_groups")
row("rms_norm", "torch.rms_norm(x, [9], w), torch.rms_norm(x, [9], None, 0.1), torch.rms_norm(x, [5, 9])", x=f32(3, 5, 9), w=f32(9))
row("rms_norm_special", "torch.rms_norm(x, [6], w), torch.rms_norm(x, [6], None, 0.0)", x=special(4, 6), w=f32(6))
row("rms_norm_overflow", "torch.rms_norm(x, [6])", x=tensor([[1e19, 1e19, 1.3e19, 0, 1, 2], [1e30, 1, 2, 3, 4, 5], [1e18, 1e17, 3, 2, 1, 0]]))
