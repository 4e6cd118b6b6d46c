"""Quantization: fake, decomposed (pt2e), and quantized tensors."""
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 - registers quantized_decomposed
from conformance import *

# ---- Fake quantization -----------------------------------------------------------------------------

#: Values halfway between two steps, values out of range, and values that no integer can represent.
STEPS = tensor([0.0, -0.0, 0.05, 0.15, 0.25, -0.05, -0.15, 12.7, 12.8, 25.4, 25.6, -12.8, -12.9, 1e30, -1e30, INF, -INF, NAN])
BYTE, HALF_BYTE = dict(low=0, high=255), dict(low=-8, high=7)
FAKE = "torch.fake_quantize_per_tensor_affine(x, s, z, low, high)"
for name, x in {"normal": f32(3, 17), "steps": STEPS, "empty": f32(0), "one": f32(1), "strided": noncontig(f32(3, 5)), "turned": transposed(f32(3, 5))}.items():
    row(f"fake_quantize_{name}", FAKE, x=x, s=0.1, z=127, **BYTE, also=[{"z": 0}, {"s": 0.03, "z": 255}])
    row(f"fake_quantize_{name}_few_levels", FAKE, x=x, s=0.25, z=0, **HALF_BYTE)
row("fake_quantize_by_tensors", FAKE, x=f32(3, 5), s=tensor([0.1]), z=tensor([3], "i32"), **BYTE)
row("fake_quantize_zero_point_outside", FAKE, x=f32(3), s=0.1, z=300, **BYTE, raises="must be between")
row("fake_quantize_cachemask", "torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, s, z, low, high)", x=STEPS, s=0.1, z=127, **BYTE)
row("fake_quantize_cachemask_by_tensors", "torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, on, low, high)",
    x=STEPS, s=tensor([0.1]), z=tensor([127], "i32"), on=tensor([1], "i64"), **BYTE, also=[{"on": tensor([0], "i64")}])
CHANNELS = "torch.fake_quantize_per_channel_affine(x, s, z, axis, low, high)"
for axis in range(3):
    n = (4, 3, 5)[axis]
    row(f"fake_quantize_channels_{axis}", CHANNELS, x=f32(4, 3, 5), s=f32(n, lo=0.01, hi=0.2), z=i32(n, lo=0, hi=9), axis=axis, **BYTE)
row("fake_quantize_channels_cachemask", "torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, s, z, axis, low, high)",
    x=f32(4, 3), s=f32(3, lo=0.01, hi=0.2), z=i32(3, lo=0, hi=9), axis=1, **HALF_BYTE | {"high": 15})
row("fake_quantize_channels_too_few", CHANNELS, x=f32(4, 3), s=f32(2), z=i32(2), axis=1, **BYTE, raises="not consistent")
FUSED = "torch.fused_moving_avg_obs_fake_quant(x, on, fake, low, high, s, z, 0.01, least, most, 0, rows, symmetric)"
for symmetric in (False, True):
    row(f"fake_quantize_fused{'_symmetric' * symmetric}", FUSED, x=f32(3, 5), on=tensor([0], "i64"), fake=tensor([1], "i64"), low=tensor([-1.5]), high=tensor([0.7]),
        s=tensor([1.0]), z=tensor([0], "i32"), least=0, most=127, rows=False, symmetric=symmetric, mutates=True, also=[
            {"fake": tensor([0], "i64")}, {"least": -128}, {"low": tensor([0.5]), "high": tensor([0.9])}, {"low": tensor([-0.9]), "high": tensor([-0.5])},
            {"low": tensor([0.0]), "high": tensor([0.0])}, {"low": tensor([-1e-5]), "high": tensor([3e-5])}, {"low": tensor([0.0]), "high": tensor([3e-5])},
            {"low": tensor([-3e-5]), "high": tensor([0.0])},
            {"rows": True, "low": tensor([-1, -0.2, 0.5]), "high": tensor([1, 0.7, 0.6]), "s": f32(3), "z": i32(3), "least": -128}])

# ---- Decomposed --------------------------------------------------------------------------------------

OF = "torch.ops.quantized_decomposed."
INTS_OF = {"u8": ("torch.uint8", 0, 255), "i8": ("torch.int8", -128, 127), "i16": ("torch.int16", -32768, 32767), "i32": ("torch.int32", -2147483648, 2147483647)}
for dtype, (name, low, high) in INTS_OF.items():
    row(f"decomposed_quantize_{dtype}", f"{OF}quantize_per_tensor(x, s, z, {low}, {high}, {name})", x=f32(3, 17), s=0.03, z=3, also=[{"s": 0.1, "z": 0}])
    row(f"decomposed_dequantize_{dtype}", f"{OF}dequantize_per_tensor(x, s, z, {low}, {high}, {name})", x=random(dtype, 3, 17), s=0.03, z=3)
    row(f"decomposed_round_trip_channels_{dtype}", f"""
        q = {OF}quantize_per_channel(x, s, z, axis, {low}, {high}, {name})
        return q, {OF}dequantize_per_channel(q, s, z, axis, {low}, {high}, {name}), {OF}dequantize_per_channel(q, s, None, axis, {low}, {high}, {name})""",
        x=f32(3, 4, 4), s=f32(4, lo=0.01, hi=0.2), z=i64(4, lo=0, hi=9), axis=1, also=[{"axis": 2}])
row("decomposed_quantize_steps", f"{OF}quantize_per_tensor(x, s, z, 0, 255, torch.uint8)", x=tensor([0.05, 0.15, 0.25, 0.35, -0.05, 99.0, -99.0]), s=0.1, z=127)
row("decomposed_quantize_halves", f"{OF}quantize_per_tensor(x, 0.03, 3, -128, 127, torch.int8)", x=random("bf16", 3, 5))
row("decomposed_quantize_doubles", f"{OF}quantize_per_tensor(x, 0.03, 3, -128, 127, torch.int8)", x=f64(3), raises="torch.float32")
row("decomposed_quantize_by_tensors", f"""
    q = {OF}quantize_per_tensor(x, s, z, -127, 127, torch.int8)
    p = {OF}quantize_per_tensor(x, s, z, low, high, torch.int8)
    return q, p, {OF}dequantize_per_tensor(q, s, z, -127, 127, torch.int8), {OF}dequantize_per_tensor(p, s, z, low, high, torch.int8)""",
    x=f32(3, 5), s=tensor([0.03]), z=tensor([3], "i64"), low=tensor(-100, "i64"), high=tensor(100, "i64"))
row("decomposed_dequantize_to_half", f"{OF}dequantize_per_tensor(x, 0.03, 3, -128, 127, torch.int8, out_dtype=torch.float16)", x=random("i8", 3, 5))
row("decomposed_choose", f"""
    a, b = {OF}choose_qparams(x, -128, 127, 1e-5, torch.int8)
    c, d = {OF}choose_qparams_symmetric(x, -128, 127, 1e-5, torch.int8)
    e, f = {OF}choose_qparams_symmetric(x, 0, 255, 1e-5, torch.uint8)
    return a, b, c, d, e, f""", x=f32(3, 17), also=[{"x": f32(5, lo=1, hi=2)}, {"x": f32(5, lo=-2, hi=-1)}, {"x": tensor([0.0])}])
row("decomposed_tokens", f"""
    s, z = {OF}choose_qparams_per_token(x, torch.int8)
    t, y = {OF}choose_qparams_per_token_asymmetric(x, torch.int8)
    q, p = {OF}quantize_per_token(x, s, z, -128, 127, torch.int8), {OF}quantize_per_token(x, t, y, -128, 127, torch.int8)
    return (s, z, t, y, q, p, {OF}dequantize_per_token(q, s, z, -128, 127, torch.int8, torch.float32),
            {OF}dequantize_per_token(p, t, y, -128, 127, torch.int8, torch.float32))""", x=f32(2, 3, 17), also=[{"x": f32(1, 5, lo=1, hi=2)}])
row("decomposed_groups", f"""
    q = {OF}quantize_per_channel_group(x, s, z, -8, 7, torch.int8, 4)
    return q, {OF}dequantize_per_channel_group(q, s, z, -8, 7, torch.int8, 4, torch.float32), {OF}dequantize_per_channel_group(q, s, None, -8, 7, torch.int8, 4, torch.float32)""",
    x=f32(3, 8), s=f32(3, 2, lo=0.1, hi=0.3), z=i32(3, 2, lo=-2, hi=2))
row("decomposed_fake_channels", f"{OF}fake_quant_per_channel(x, s, z, 1, -128, 127)", x=f32(4, 3, 5), s=f32(3, lo=0.01, hi=0.2), z=i32(3))
row("decomposed_convert", f"{OF}convert_element_type(x, torch.int32)", x=f32(3, 5))

# ---- Quantized tensors --------------------------------------------------------------------------------

#: The engine that packs weights for these rows and determines their rounding.
torch.backends.quantized.engine = "qnnpack"
FINITE = tensor([0.0, -0.0, 0.05, 0.15, 0.25, -0.05, -0.15, 12.7, 12.8, 25.4, 25.6, -12.8, -12.9, 1e9, -1e9])
WHAT = "(q.dequantize(), q.int_repr(), q.q_scale(), q.q_zero_point(), q.dtype == torch.{0}, q.is_quantized, x.is_quantized)"
for dtype, zero in {"quint8": 127, "qint8": -3, "qint32": 1000}.items():
    row(f"quantize_{dtype}", f"q = torch.quantize_per_tensor(x, 0.1, {zero}, torch.{dtype})\nreturn {WHAT.format(dtype)}", x=f32(3, 17),
        also=[{"x": FINITE} if dtype != "qint32" else {"x": f32(1)}, {"x": f32(0)}, {"x": noncontig(f32(3, 5))}, {"x": transposed(f32(3, 5))}, {"x": channels_last(f32(2, 3, 4, 5))}])
    row(f"quantize_channels_{dtype}", f"""
        q = torch.quantize_per_channel(x, s, z, axis, torch.{dtype})
        return q.dequantize(), q.int_repr(), q.q_per_channel_scales(), q.q_per_channel_zero_points(), q.q_per_channel_axis()""",
        x=f32(3, 4, 4), s=f64(4, lo=0.01, hi=0.2), z=i64(4, lo=0, hi=9), axis=1, also=[{"axis": 2}, {"x": transposed(f32(3, 4, 4))}])
row("quantize_channels_turned_is_refused", "torch.quantize_per_channel(x, s, z, 1, torch.qint8).permute(1, 0).dequantize()", x=f32(3, 4), s=f64(4, lo=0.01, hi=0.2),
    z=i64(4, lo=0, hi=9), raises="")
row("quantize_to_what_is_not_quantized", "torch.quantize_per_tensor(x, 0.1, 3, torch.int8)", x=f32(3), raises="cannot quantize to dtype")
row("quantize_by_tensors", "torch.quantize_per_tensor(x, s, z, torch.quint8).int_repr()", x=f32(3, 5), s=tensor(0.1), z=tensor(127, "i64"))
row("quantize_doubles", "torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).int_repr()", x=f64(3), raises="Quantize only works on Float Tensor")
row("quantize_zero_point_outside", "torch.quantize_per_tensor(x, 0.1, 300, torch.quint8).int_repr()", x=f32(3), raises="zero_point 300 is above upper bound")
row("quantize_made_of_integers", """
    a, b = torch._make_per_tensor_quantized_tensor(x, 0.5, 3), torch._make_per_channel_quantized_tensor(x, s, z, 1)
    return a.dequantize(), b.dequantize()""", x=u8(3, 4), s=f64(4, lo=0.1, hi=0.3), z=i64(4, lo=0, hi=9), also=[{"x": random("i8", 3, 4)}, {"x": transposed(u8(3, 4))}])
MOVES = """
    q = torch.quantize_per_tensor(x, 0.1, 100, torch.quint8)
    r = {}
    return r.dequantize(), r.int_repr(), r.q_scale(), r.q_zero_point()"""
for name, body in {"view": "q.view(3, 8)", "reshape": "q.transpose(0, 1).reshape(-1)", "flatten": "q.flatten(1)", "permute": "q.permute(2, 0, 1)", "select": "q[1]",
                   "slice": "q[:, 1:]", "clone": "q.clone()", "contiguous": "q.transpose(0, 1).contiguous()", "unsqueeze": "q.unsqueeze(1)", "expand": "q[:1].expand(3, 3, 4)",
                   "split": "q.split(1, 0)[1]", "list": "[q, q][1]", "relu": "torch.relu(q)", "relu_in_place": "torch.relu_(q)", "relu6": "F.relu6(q)", "clamp": "torch.clamp(q, -0.5, 0.7)",
                   "hardtanh": "F.hardtanh(q, -0.3, 0.4)", "cat": "torch.cat([q, q[:1]], 0)",
                   "sigmoid": "torch.sigmoid(q)", "tanh": "torch.tanh(q)", "hardsigmoid": "F.hardsigmoid(q)"}.items():
    row(f"quantized_{name}", MOVES.format(body), x=f32(2, 3, 4))
POOLS = """
    q = torch.quantize_per_tensor(x, 0.1, 100, torch.quint8)
    r = {}
    return r.dequantize()"""
for name, body in {"max_pool2d": "F.max_pool2d(q, 2)", "max_pool2d_padded": "F.max_pool2d(q, 3, 2, 1)", "avg_pool2d": "F.avg_pool2d(q, 3)",
                   "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(q, [2, 2])", "nearest": "F.interpolate(q, scale_factor=2.0, mode='nearest')", "mean": "q.mean([2, 3])"}.items():
    row(f"quantized_{name}", POOLS.format(body), x=f32(2, 3, 8, 9))
# Bytes, channels-last and contiguous, in windows that padding and the last column cut.
for dtype, zero in {"quint8": 100, "qint8": -7}.items():
    row(f"quantized_max_pool_of_{dtype}", f"""
    q = torch.quantize_per_tensor(x, 0.02, {zero}, torch.{dtype})
    last = q.contiguous(memory_format=torch.channels_last)
    return F.max_pool2d(q, 3, 2, 1).int_repr(), F.max_pool2d(last, [3, 2], 2, [1, 0], ceil_mode=True).int_repr(), F.max_pool2d(last, 2, 1, 0, 2).int_repr()""",
        x=f32(2, 37, 8, 9, lo=-4, hi=4), also=[{"x": f32(1, 16, 5, 5, lo=-4, hi=-1)}, {"x": f32(1, 15, 7, 4, lo=-4, hi=4)}])
for dtype, zero in {"quint8": 100, "qint8": -7}.items():
    row(f"quantized_avg_pool_of_{dtype}", f"""
    q = torch.quantize_per_tensor(x, 0.02, {zero}, torch.{dtype})
    last = q.contiguous(memory_format=torch.channels_last)
    return F.avg_pool2d(q, 3, 2, 1).int_repr(), F.avg_pool2d(last, [3, 2], 2, [1, 0], True, False).int_repr(), F.adaptive_avg_pool2d(last, [3, 2]).int_repr()""",
        x=f32(2, 37, 8, 9, lo=-4, hi=4), also=[{"x": f32(1, 16, 5, 5, lo=-4, hi=-1)}, {"x": f32(1, 15, 7, 4, lo=-4, hi=4)}])
row("quantized_max_pool1d", "return F.max_pool1d(torch.quantize_per_tensor(x, 0.1, 100, torch.quint8), 3, 2, 1).int_repr()", x=f32(2, 5, 9))
# A mean halfway between two integers is rounded to the even one, for every scale.
for name, body in {"avg_pool2d": "F.avg_pool2d(q, 2)", "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(q, [1, 1])", "mean": "q.mean([2, 3])"}.items():
    row(f"quantized_{name}_of_halves", f"""
    q = torch._make_per_tensor_quantized_tensor(x, s, 100)
    r = {body}
    return r.int_repr()""", x=u8(2, 128, 4, 4, lo=90, hi=112), s=9.021407127380371, also=[{"s": 0.037}, {"x": u8(1, 256, 2, 2, lo=90, hi=112)}])
row("quantized_add_is_refused", "q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)\nreturn (q + q).int_repr()", x=f32(3), raises="not implemented for 'QUInt8'")
row("quantized_in_a_loop", """
    q = torch.quantize_per_tensor(x, 0.1, 100, torch.quint8)
    for k in range(n):
        q = torch.quantize_per_tensor(q.dequantize() * 0.5, q.q_scale() * 0.5, q.q_zero_point() + k, torch.quint8)
    return q.dequantize(), q.q_scale()""", x=f32(3, 5), n=3, also=[{"n": 0}])

# ---- Packed weights ----------------------------------------------------------------------------------

PACKED = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        w, b = torch.randn({sizes}), torch.randn({outs})
        s, z = torch.rand({channels}, dtype=torch.float64) * 0.01 + 0.01, torch.zeros({channels}, dtype=torch.int64)
        w = {quantized}
        self.packed = torch.ops.quantized.{prepack}
    def forward(self, x: Tensor):
        {body}
"""
EACH = {"tensor": "torch.quantize_per_tensor(w, 0.02, 5, torch.qint8)", "channel": "torch.quantize_per_channel(w, s, z, {}, torch.qint8)"}


def packed(name, sizes, prepack, body, x, outs=None, axis=0, **options):
    for kind, quantized in EACH.items():
        row(f"{name}_per_{kind}", PACKED.format(sizes=", ".join(map(str, sizes)), outs=outs or sizes[axis], channels=sizes[axis], prepack=prepack, body=body,
                                                quantized=quantized.format(axis)), x=x, **options)


packed("linear_dynamic", (7, 17), "linear_prepack(w, b)", "return torch.ops.quantized.linear_dynamic(x, self.packed)", f32(3, 17),
       also=[{"x": f32(2, 1, 17)}, {"x": f32(1, 17, lo=1, hi=2)}, {"x": transposed(f32(3, 17))}, {"x": f32(0, 17)}])
packed("linear_dynamic_no_bias", (7, 17), "linear_prepack(w)", "return torch.ops.quantized.linear_dynamic(x, self.packed, True)", f32(3, 17))
packed("linear_relu_dynamic", (7, 17), "linear_prepack(w, b)", "return torch.ops.quantized.linear_relu_dynamic(x, self.packed)", f32(3, 17))
RECURRENT = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.ao.nn.quantized.dynamic.{kind}({options})
    def forward(self, x: Tensor{arguments}):
        {body}
"""
for kind in ("LSTM", "GRU"):
    for name, options in {"": "17, 5", "_deep": "9, 12, num_layers=3", "_both_ways": "9, 7, num_layers=2, bidirectional=True, batch_first=True"}.items():
        row(f"quantized_{kind.lower()}{name}", RECURRENT.format(kind=kind, options=options, arguments="", body="return self.net(x)"), x=f32(4, 3, int(options.split(",")[0])),
            also=[{"x": f32(1, 1, int(options.split(",")[0]))}])
row("quantized_lstm_of_other_features", RECURRENT.format(kind="LSTM", options="5, 3", arguments="", body="return self.net(x)[0]"), x=f32(4, 3, 6), raises="input.size(-1) must be equal to input_size")
STATE = RECURRENT.format(kind="{kind}", options="5, 3", arguments=", h: {type}", body="return self.net(x, h)")
row("quantized_lstm_state", STATE.format(kind="LSTM", type="Tuple[Tensor, Tensor]"), x=f32(4, 2, 5), h=(f32(1, 2, 3), f32(1, 2, 3)))
row("quantized_gru_state", STATE.format(kind="GRU", type="Tensor"), x=f32(4, 2, 5), h=f32(1, 2, 3))
QUANTIZED_X = "q = torch.quantize_per_tensor(x, 0.031, 119, torch.quint8)\n        r = torch.ops.quantized.{}(q, self.packed, 0.07, 101)\n        return r.dequantize(), r.int_repr()"
for op in ("linear", "linear_relu"):
    packed(f"quantized_{op}", (7, 17), "linear_prepack(w, b)", QUANTIZED_X.format(op), f32(3, 17), also=[{"x": f32(2, 1, 17)}])
packed("quantized_linear_no_bias", (7, 17), "linear_prepack(w)", QUANTIZED_X.format("linear"), f32(3, 17))
for op in ("conv1d", "conv1d_relu"):
    packed(f"quantized_{op}", (6, 4, 3), "conv1d_prepack(w, b, [2], [1], [1], 1)", QUANTIZED_X.format(op), f32(2, 4, 11))
for op in ("conv2d", "conv2d_relu"):
    packed(f"quantized_{op}", (6, 4, 3, 3), "conv2d_prepack(w, b, [1, 1], [1, 1], [1, 1], 1)", QUANTIZED_X.format(op), f32(2, 4, 7, 9), also=[{"x": channels_last(f32(1, 4, 5, 5))}])
packed("quantized_conv2d_tiles", (19, 24, 3, 3), "conv2d_prepack(w, b, [1, 1], [1, 1], [1, 1], 1)", QUANTIZED_X.format("conv2d"), f32(2, 24, 9, 7), also=[{"x": f32(1, 24, 4, 12)}])
packed("quantized_conv2d_stem", (10, 3, 5, 5), "conv2d_prepack(w, b, [2, 2], [2, 2], [1, 1], 1)", QUANTIZED_X.format("conv2d"), f32(2, 3, 9, 7))
packed("quantized_conv2d_strides", (6, 4, 3, 2), "conv2d_prepack(w, None, [2, 3], [0, 1], [2, 1], 1)", QUANTIZED_X.format("conv2d"), f32(2, 4, 9, 9))
packed("quantized_conv2d_groups", (6, 2, 3, 3), "conv2d_prepack(w, b, [1, 1], [1, 1], [1, 1], 2)", QUANTIZED_X.format("conv2d"), f32(2, 4, 7, 9))
packed("quantized_conv2d_depthwise", (8, 1, 3, 3), "conv2d_prepack(w, b, [1, 1], [1, 1], [1, 1], 8)", QUANTIZED_X.format("conv2d"), f32(2, 8, 7, 9))
DEPTHWISE = "conv2d_prepack(w, b, [{0}, {0}], [{1}, {1}], [{2}, {2}], {3})"
for name, (channels, kernel, stride, padding, dilation) in {"rows": (24, 3, 1, 1, 1), "rows_of_two": (17, 3, 2, 1, 1), "rows_of_three": (16, 3, 3, 0, 1),
                                                            "rows_dilated": (20, 3, 1, 2, 2), "rows_5x5": (40, 5, 2, 2, 1), "rows_padded_wide": (16, 3, 1, 3, 1)}.items():
    packed(f"quantized_conv2d_depthwise_{name}", (channels, 1, kernel, kernel), DEPTHWISE.format(stride, padding, dilation, channels),
           QUANTIZED_X.format("conv2d_relu"), f32(2, channels, 7, 9), also=[{"x": f32(1, channels, 5, 5)}])
packed("quantized_conv2d_pixels", (19, 24, 1, 1), "conv2d_prepack(w, b, [1, 1], [0, 0], [1, 1], 1)", QUANTIZED_X.format("conv2d"), f32(3, 24, 5, 7), also=[{"x": channels_last(f32(1, 24, 9, 1))}])
packed("quantized_conv2d_many_groups", (12, 2, 2, 2), "conv2d_prepack(w, b, [2, 1], [1, 0], [1, 2], 4)", QUANTIZED_X.format("conv2d"), f32(2, 8, 7, 9))
packed("quantized_conv_transpose1d", (4, 6, 3), "conv_transpose1d_prepack(w, b, [2], [1], [1], [1], 1)", QUANTIZED_X.format("conv_transpose1d"), f32(2, 4, 7), axis=1, outs=6)
packed("quantized_conv_transpose2d", (4, 6, 3, 2), "conv_transpose2d_prepack(w, b, [2, 1], [1, 0], [1, 0], [1, 2], 1)", QUANTIZED_X.format("conv_transpose2d"),
       f32(2, 4, 5, 6), axis=1, outs=6)
ON_THE_FLY = "return torch.ops.quantized.{}_dynamic(x, self.packed, {})"
packed("quantized_conv1d_dynamic", (6, 4, 3), "conv1d_prepack(w, b, [2], [1], [1], 1)", ON_THE_FLY.format("conv1d", False), f32(2, 4, 11))
packed("quantized_conv2d_dynamic", (6, 4, 3, 3), "conv2d_prepack(w, b, [1, 1], [1, 1], [1, 1], 1)", ON_THE_FLY.format("conv2d", True), f32(2, 4, 7, 9),
       also=[{"x": f32(1, 4, 5, 5, lo=1, hi=2)}, {"x": channels_last(f32(1, 4, 3, 3, lo=-2, hi=-1))}])
packed("quantized_conv_transpose1d_dynamic", (4, 6, 3), "conv_transpose1d_prepack(w, b, [2], [1], [1], [1], 1)", ON_THE_FLY.format("conv_transpose1d", False), f32(2, 4, 7), axis=1, outs=6)
packed("quantized_conv_transpose2d_dynamic", (4, 6, 3, 2), "conv_transpose2d_prepack(w, b, [2, 1], [1, 0], [1, 0], [1, 2], 1)", ON_THE_FLY.format("conv_transpose2d", False),
       f32(2, 4, 5, 6), axis=1, outs=6)

# ---- Embedding tables with a scale and a bias per row----------------------------------------------------

TABLE = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        w = torch.randn(11, {columns})
        s, z = (w.amax(1) - w.amin(1)) / {most}, w.amin(1) / ((w.amin(1) - w.amax(1)) / {most})
        self.packed = torch.ops.quantized.embedding_bag_prepack(torch.quantize_per_channel(w, s, z, 0, torch.{dtype}))
    def forward(self, {arguments}):
        return torch.ops.quantized.{body}
"""
MAPPING = tensor([0, -1, 2, 3, -1, 5, 10, 7], "i32")
for bits, most, dtype in (("byte", 255, "quint8"), ("4bit", 15, "quint4x2")):
    for columns in (6, 7, 33):
        row(f"embedding_{bits}_{columns}", TABLE.format(columns=columns, most=most, dtype=dtype, arguments="i: Tensor", body=f"embedding_{bits}(self.packed, i)"), i=i64(5, lo=0, hi=10),
            also=[{"i": i64(3, 4, lo=0, hi=10)}, {"i": i32(5, lo=0, hi=10)}])
    bag = f"embedding_bag_{bits}(self.packed, i, {{}})"
    bags = {"": ("i: Tensor, o: Tensor", "o", {}), "weighted": ("i: Tensor, o: Tensor, f: Tensor", "o, False, 0, False, f", {"f": f32(9)}),
            "ended": ("i: Tensor, o: Tensor", "o, False, 0, False, None, None, True", {}),
            "mean_is_sum": ("i: Tensor, o: Tensor", "o, False, 1", {})}
    for name, (arguments, body, more) in bags.items():
        row(f"embedding_bag_{bits}{'_' * bool(name)}{name}", TABLE.format(columns=6, most=most, dtype=dtype, arguments=arguments, body=bag.format(body)), i=i64(9, lo=0, hi=10),
            o=tensor([0, 2, 2, 5, 9], "i64"), **more, also=[{"i": i32(9, lo=0, hi=10), "o": tensor([0, 9], "i32")}, {"o": tensor([0], "i64")}])
    row(f"embedding_bag_{bits}_of_sequences", TABLE.format(columns=6, most=most, dtype=dtype, arguments="i: Tensor", body=bag.format("None")), i=i64(3, 4, lo=0, hi=10))
    for name, mapping in {"": MAPPING, "_not": tensor([0], "i32")}.items():
        row(f"embedding_bag_{bits}_pruned{name}", TABLE.format(columns=6, most=most, dtype=dtype, arguments="i: Tensor, o: Tensor, m: Tensor", body=bag.format("o, False, 0, True, None, m")),
            i=i64(9, lo=0, hi=7), o=tensor([0, 2, 2, 5], "i64"), m=mapping)
    row(f"embedding_bag_{bits}_index_outside", TABLE.format(columns=6, most=most, dtype=dtype, arguments="i: Tensor, o: Tensor", body=bag.format("o")), i=tensor([0, 11], "i64"),
        o=tensor([0], "i64"), raises="Invalid indices data", also=[{"i": tensor([0, -1], "i64")}])
    row(f"embedding_bag_{bits}_without_offsets", TABLE.format(columns=6, most=most, dtype=dtype, arguments="i: Tensor", body=bag.format("None")), i=i64(3, lo=0, hi=10),
        raises="expects offsets to be set for 1D indices")
    row(f"embedding_bag_{bits}_beyond_its_indices", TABLE.format(columns=6, most=most, dtype=dtype, arguments="i: Tensor, o: Tensor", body=bag.format("o")), i=i64(3, lo=0, hi=10),
        o=tensor([0, 5], "i64"), raises="Expect the lengths data to be less than indices size")
for bits in ("byte", "4bit", "2bit"):
    row(f"embedding_bag_{bits}_prepack", f"torch.ops.quantized.embedding_bag_{bits}_prepack(x)", x=f32(5, 8), also=[{"x": f32(3, 36)}, {"x": tensor([[0.0] * 4, [1e-9] * 4, [-3.5] * 4, [1e5, -1e5, 7, 0]])}])
    row(f"embedding_bag_{bits}_unpack", f"torch.ops.quantized.embedding_bag_{bits}_unpack(torch.ops.quantized.embedding_bag_{bits}_prepack(x))", x=f32(5, 8), also=[{"x": f32(3, 36)}])
    row(f"embedding_bag_{bits}_rowwise_offsets", f"torch.ops.quantized.embedding_bag_{bits}_rowwise_offsets(torch.ops.quantized.embedding_bag_{bits}_prepack(x), i, o)", x=f32(11, 8),
        i=i64(9, lo=0, hi=10), o=tensor([0, 2, 2, 5], "i64"))
for bits, each in (("4bit", 2), ("2bit", 4)):
    row(f"embedding_bag_{bits}_prepack_of_a_broken_byte", f"torch.ops.quantized.embedding_bag_{bits}_prepack(x)", x=f32(3, 7), raises=f"the number of columns a multiple of {each}")

# ---- Pointwise ---------------------------------------------------------------------------------------

PAIR = """
    p, q = torch.quantize_per_tensor(x, 0.031, {zero}, torch.{dtype}), torch.quantize_per_tensor(y, 0.043, {zero}, torch.{dtype})
    r = torch.ops.quantized.{body}
    return r.dequantize(), r.int_repr()"""
ONES = {"leaky_relu": "leaky_relu(p, 0.2, False, 0.037, {zero})", "hardswish": "hardswish(p, 0.037, {zero})", "elu": "elu(p, 0.037, {zero}, 0.7)",
        "celu": "celu(p, 0.037, {zero}, 0.7)", "sigmoid": "sigmoid(p, 0.00390625, {least})", "relu6": "relu6(p)", "softmax": "softmax(p, 1, 0.0039, {zero})",
        "layer_norm": "layer_norm(p, [17], None, None, 1e-5, 0.031, {zero})",
        "layer_norm_weighted": "layer_norm(p, [17], v, v, 1e-5, 0.031, {zero})", "group_norm": "group_norm(p, 2, None, None, 1e-5, 0.037, {zero})",
        "instance_norm": "instance_norm(p, w, w, 1e-5, 0.037, {zero})", "batch_norm1d": "batch_norm1d(p, w, w, w, w * w + 1, 1e-5, 0.037, {zero})",
        "cat": "cat([p, q], 1, 0.051, {zero})", "cat_relu": "cat_relu([p, q], 1, None, None)",
        "add": "add(p, q, 0.053, {zero})", "add_relu": "add_relu(p, q, 0.053, {zero})", "mul": "mul(p, q, 0.053, {zero})", "mul_relu": "mul_relu(p, q, 0.053, {zero})"}
# There are more elements than byte values, so unary functions use a lookup table.
for name in ("leaky_relu", "hardswish", "elu", "celu", "sigmoid"):
    for dtype, zero in {"quint8": 119, "qint8": -7, "qint32": 5}.items():
        body = ONES[name].format(zero=zero, least={"quint8": 0, "qint8": -128, "qint32": 0}[dtype])
        row(f"quantized_{name}_of_many_{dtype}", PAIR.format(dtype=dtype, zero=zero, body=body), x=f32(2, 3, 7, 17), y=f32(1),
            also=[{"x": channels_last(f32(2, 3, 9, 17))}, {"x": noncontig(f32(23, 17))}])
# Products as in squeeze and excitation: every one is halfway, and even only without the zero point.
HALVES = """
    p, q = torch.quantize_per_tensor(x, 0.3, 1, torch.quint8), torch.quantize_per_tensor(y, 0.00390625, 0, torch.quint8)
    r = torch.ops.quantized.{}(p, q, 0.3, 1)
    return r.dequantize(), r.int_repr()"""
for name in ("mul", "mul_relu"):
    row(f"quantized_{name}_of_halves", HALVES.format(name), x=f32(2, 3, 5, 7, lo=-0.3, hi=70), y=tensor([[[0.5]], [[0.25]], [[0.75]]]))
# Arbitrary float scales, as observers set them. Operands have equal or different layouts, or broadcast (PyTorch refuses qint8).
TWO = """
    p, q = torch.quantize_per_tensor(x, 0.03125, {zero}, torch.{dtype}), torch.quantize_per_tensor(y, 0.0123456791, {zero}, torch.{dtype})
    r = torch.ops.quantized.{name}(p, q, 0.0471234992, {zero})
    return r.dequantize(), r.int_repr()"""
ALIKE = [{"x": channels_last(f32(2, 19, 3, 5)), "y": channels_last(f32(2, 19, 3, 5))}, {"x": f32(257, lo=-40, hi=40), "y": f32(257, lo=-40, hi=40)}]
OTHERS = [{"x": channels_last(f32(2, 19, 3, 5)), "y": f32(2, 19, 3, 5)}, {"x": channels_last(f32(2, 19, 3, 5)), "y": f32(2, 19, 1, 1)},
          {"x": f32(2, 300, 1, 1), "y": channels_last(f32(2, 300, 3, 2))}, {"x": f32(2, 19, 1, 1), "y": f32(2, 19, 3, 5)},
          {"x": noncontig(f32(23, 17)), "y": f32(17)}, {"x": f32(0, 3), "y": f32(1, 3)}, {"x": f32(300), "y": f32(1)}]
for name in ("add", "add_relu", "mul", "mul_relu"):
    for dtype, zero in {"quint8": 119, "qint8": -7}.items():
        row(f"quantized_{name}_of_two_{dtype}", TWO.format(name=name, dtype=dtype, zero=zero), x=f32(2, 19, 3, 5), y=f32(2, 19, 3, 5),
            also=ALIKE + (OTHERS if dtype == "quint8" else []))
# qnnpack adds integers whose scales are multiples of a power of two. All pairs of bytes, with scales that show it.
ALL = """
    p = torch._make_per_tensor_quantized_tensor(x.view(-1, 1).expand(256, 256).contiguous(), s, 133)
    q = torch._make_per_tensor_quantized_tensor(x.expand(256, 256).contiguous(), t, 130)
    return torch.ops.quantized.add(p, q, u, 124).int_repr(), torch.ops.quantized.add_relu(p, q, u, 124).int_repr()"""
row("quantized_add_of_all_bytes", ALL, x=tensor(list(range(256)), "u8"), s=0.04266010597348213, t=0.037087563425302505, u=0.05082351714372635,
    also=[{"s": 0.25, "t": 0.125, "u": 0.5}, {"s": 0.001, "t": 0.3, "u": 0.004}, {"s": 0.0123, "t": 0.0456, "u": 1.7}])
for dtype, zero in {"quint8": 119, "qint8": -7}.items():
    for name, body in ONES.items():
        row(f"quantized_{name}_of_{dtype}", PAIR.format(dtype=dtype, zero=zero, body=body.format(zero=zero, least=0 if dtype == "quint8" else -128)), x=f32(2, 4, 17), y=f32(2, 4, 17), w=f32(4), v=f32(17))

# Products of 32-bit integers wrap.
row("quantized_mul_wraps", """
    a = torch.quantize_per_tensor(x, 1e-5, 0, torch.qint32)
    b = torch.quantize_per_tensor(y, 1e-5, 0, torch.qint32)
    return torch.ops.quantized.mul(a, b, 1e-4, 0).dequantize()""", x=tensor([3.0, -2.0, 0.001]), y=tensor([4.0, 5.0, 0.002]))
row("qscheme", "q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)\nreturn q.qscheme()", x=f32(3))

for name, dtype, zero in (("quint8", "torch.quint8", 10), ("qint8", "torch.qint8", -3)):
    row(f"quantized_times_a_number_{name}", f"""q = torch.quantize_per_tensor(x, 0.05, {zero}, {dtype})
out = []
for y in [torch.ops.quantized.mul(q, b), torch.ops.quantized.mul(b, q), torch.ops.quantized.mul_relu(q, b), torch.ops.quantized.mul_relu(b, q)]:
    out.append(y.int_repr().to(torch.float64))
    out.append(y.dequantize())
return out""", x=f32(4, 5), b=2.5, also=[{"b": -1.5}, {"b": 0.0}])
row("fake_quantize_learnable", "(torch._fake_quantize_learnable_per_tensor_affine(x, s[:1], z[:1], -8, 7, 1.0), torch._fake_quantize_learnable_per_channel_affine(x, s, z, 1, -8, 7, 1.0))", x=f32(5, 3),
    s=f32(3, lo=0.1, hi=0.5), z=tensor([0.4, -1.5, 2.7]))
row("fake_quantize_learnable_backward", """(torch.ops.aten._fake_quantize_learnable_per_tensor_affine_backward(g, x, s[:1], z[:1], -4, 3, 0.5),
    torch.ops.aten._fake_quantize_learnable_per_channel_affine_backward(g, x, s, z, 1, -4, 3, 0.5))""", g=f32(5, 3), x=f32(5, 3), s=f32(3, lo=0.1, hi=0.3), z=tensor([0.4, -1.5, 2.7]),
    also=[{"g": f32(0, 3), "x": f32(0, 3)}])
row("fake_quantize_learnable_backward_of_one_channel", "torch.ops.aten._fake_quantize_learnable_per_channel_affine_backward(g, x, s, z, 0, -4, 3, 1.0)", g=f32(3), x=f32(3), s=f32(3, lo=0.1, hi=0.3), z=tensor([0.4, -1.5, 2.7]),
    also=[{"x": tensor([INF, -INF, NAN])}])
