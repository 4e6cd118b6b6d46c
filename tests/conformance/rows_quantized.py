"""Quantisation: fake, decomposed (pt2e), and tensors that carry their scale."""
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 - registers quantized_decomposed
from conformance import *

# ---- Fake quantisation -----------------------------------------------------------------------------

#: Halves between steps, beyond the range, and what no integer holds.
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
