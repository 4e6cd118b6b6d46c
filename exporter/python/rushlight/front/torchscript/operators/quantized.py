# Fake quantization, and the operators of torch.ao.quantization's pt2e, whose quantized tensors are ordinary integers.
# Follows aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp, torch/ao/quantization/fx/_decomposed.py


# Returns [1, .., n, .., 1]: one number per position along the axis.
def along_axis(x, numbers, axis: int):
    sizes = [1 for _ in range(x.dim())]
    sizes[axis] = numbers.numel()
    return numbers.reshape(sizes)


# Returns the integers as floats. NaN and values that an int64 cannot hold are below the minimum.
def fake_quantized_steps(x, scale, zero_point, quant_min: int):
    steps = torch.round(x * (1.0 / scale)) + zero_point
    return torch.where(torch.abs(steps) < 9.2e18, steps, float(quant_min) - 1)


def fake_quantized(x, scale, zero_point, quant_min: int, quant_max: int):
    assert quant_min <= quant_max, "`quant_min` should be less than or equal to `quant_max`."
    steps = fake_quantized_steps(x, scale, zero_point, quant_min)
    mask = torch.logical_and(steps >= quant_min, steps <= quant_max)
    return (torch.clamp(steps, quant_min, quant_max) - zero_point) * scale, mask


def fake_quantize_per_tensor_affine(x, scale: float, zero_point: int, quant_min: int, quant_max: int):
    return fake_quantize_per_tensor_affine_cachemask(x, scale, zero_point, quant_min, quant_max)[0]


def fake_quantize_per_tensor_affine_cachemask(x, scale: float, zero_point: int, quant_min: int, quant_max: int):
    assert zero_point >= quant_min and zero_point <= quant_max, "`zero_point` must be between `quant_min` and `quant_max`."
    return fake_quantized(x, torch.full([], scale, dtype=torch.float32), torch.full([], zero_point, dtype=torch.int64), quant_min, quant_max)


def fake_quantize_per_tensor_affine__tensor_qparams(x, scale, zero_point, quant_min: int, quant_max: int):
    return fake_quantized(x, scale.reshape([]), zero_point.reshape([]), quant_min, quant_max)[0]


def _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, scale, zero_point, enabled, quant_min: int, quant_max: int):
    result, mask = fake_quantized(x, scale.reshape([]), zero_point.reshape([]), quant_min, quant_max)
    on = torch.ne(enabled.reshape([]), 0)
    return torch.where(on, result, x), torch.logical_or(mask, torch.logical_not(on))


def fake_quantize_per_channel_affine(x, scale, zero_point, axis: int, quant_min: int, quant_max: int):
    return fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, quant_min, quant_max)[0]


def fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis: int, quant_min: int, quant_max: int):
    assert scale.dim() == 1 and zero_point.dim() == 1, "scale should be a 1-D tensor"
    assert scale.numel() == x.size(axis), "dimensions of scale and zero-point are not consistent with input tensor"
    return fake_quantized(x, along_axis(x, scale, axis), along_axis(x, zero_point, axis), quant_min, quant_max)


def learnable_zero_point(zero_point, quant_min: int, quant_max: int) -> int:
    return int(min(max(float(zero_point.reshape([-1])[0]) + 0.5, float(quant_min)), float(quant_max)))


def _fake_quantize_learnable_per_tensor_affine(x, scale, zero_point, quant_min: int, quant_max: int, grad_factor: float):
    return fake_quantize_per_tensor_affine(x, float(scale.reshape([-1])[0]), learnable_zero_point(zero_point, quant_min, quant_max), quant_min, quant_max)


def _fake_quantize_learnable_per_channel_affine(x, scale, zero_point, axis: int, quant_min: int, quant_max: int, grad_factor: float):
    rounded = torch.clamp(torch.round(zero_point), quant_min, quant_max).to(torch.int32)
    return fake_quantize_per_channel_affine(x, scale, rounded, axis, quant_min, quant_max)


# The gradients of x, and of scale and zero point by element.
def learnable_gradients(grad, x, scale, zero_point, quant_min: int, quant_max: int, grad_factor: float):
    inverse = 1.0 / scale
    steps = torch.round(zero_point + x * inverse)
    steps = torch.where(torch.abs(steps) < 9.2e18, steps, float(quant_min) - 1)
    below = steps < quant_min
    inside = torch.logical_not(torch.logical_or(below, steps > quant_max))
    result = (torch.clamp(steps, quant_min, quant_max) - zero_point) * scale
    by_scale = torch.where(inside, grad * (result - x) * inverse, grad * torch.where(below, quant_min - zero_point, quant_max - zero_point))
    return grad * inside, by_scale * grad_factor, torch.where(inside, 0.0, -grad * scale * grad_factor)


def _fake_quantize_learnable_per_tensor_affine_backward(grad, x, scale, zero_point, quant_min: int, quant_max: int, grad_factor: float):
    if x.numel() == 0:
        return x, scale, zero_point
    zero = torch.full([], learnable_zero_point(zero_point, quant_min, quant_max), dtype=torch.int64)
    dx, by_scale, by_zero = learnable_gradients(grad, x, scale.reshape([-1])[0], zero, quant_min, quant_max, grad_factor)
    return dx, by_scale.sum().unsqueeze(0), by_zero.sum().unsqueeze(0)


def _fake_quantize_learnable_per_channel_affine_backward(grad, x, scale, zero_point, axis: int, quant_min: int, quant_max: int, grad_factor: float):
    if x.numel() == 0:
        return x, scale, zero_point
    rounded = along_axis(x, torch.clamp(torch.round(zero_point), quant_min, quant_max).to(torch.int64), axis)
    dx, by_scale, by_zero = learnable_gradients(grad, x, along_axis(x, scale, axis), rounded, quant_min, quant_max, grad_factor)
    others = [d for d in range(axis)] + [d for d in range(axis + 1, x.dim())]
    return dx, by_scale.sum(others), by_zero.sum(others)


# (scales float64, zero points int64) of the ranges from low to high: ChooseQuantizationParams of QuantUtils.h.
def qparams_of_ranges(low, high, quant_min: int, quant_max: int, symmetric: bool):
    levels = quant_max - quant_min
    inside = torch.logical_and(low < 0, high > 0)
    if symmetric:
        widest = torch.maximum(torch.abs(low / float(-(levels // 2 + 1))), torch.abs(high / float(levels // 2))).to(torch.float64)
        low = torch.where(inside, (widest * float(-(levels // 2 + 1))).to(torch.float32), low)
        high = torch.where(inside, (widest * float(levels // 2)).to(torch.float32), high)
    low, high = torch.clamp(low, max=0).to(torch.float64), torch.clamp(high, min=0).to(torch.float64)
    scale = (high - low) / levels
    scale = torch.where(torch.isinf(1.0 / scale.to(torch.float32)), 0.1, scale)
    least = 6.1000000685453415e-05  # SMALL_SCALE_THRESHOLD
    grown = least / scale.to(torch.float32)
    small = scale < least
    high, low = (torch.where(small, torch.where(low == 0, least * levels, (high * grown).to(torch.float32).to(torch.float64)), high),
                 torch.where(small, torch.where(high == 0, -least * levels, (low * grown).to(torch.float32).to(torch.float64)), low))
    scale = torch.where(small, least, scale)
    by_low = abs(quant_min) - torch.abs(low / scale) < abs(quant_max) - torch.abs(high / scale)
    zero_point = torch.where(by_low, quant_min - low / scale, quant_max - high / scale)
    if symmetric:
        zero_point = torch.where(inside, float(quant_min + quant_max) / 2, zero_point)
    return scale, torch.round(torch.clamp(zero_point, quant_min, quant_max)).to(torch.int64)


def fused_moving_avg_obs_fake_quant(x, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const: float, quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool, symmetric_quant: bool):
    assert int(observer_on) == 0, "an observer is on: model.apply(torch.ao.quantization.disable_observer) before the export"
    if int(fake_quant_on) == 0:
        return x
    steps, zeros = qparams_of_ranges(running_min, running_max, quant_min, quant_max, symmetric_quant)
    scale.copy_(steps.reshape(scale.size()))
    zero_point.copy_(zeros.reshape(zero_point.size()))
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(x, scale, zero_point, ch_axis, quant_min, quant_max)
    return fake_quantize_per_tensor_affine__tensor_qparams(x, scale, zero_point, quant_min, quant_max)


def quantized_decomposed_quantize_per_tensor(x, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int):
    x = x.to(torch.float32) if x.dtype == torch.float16 or x.dtype == torch.bfloat16 else x
    assert x.dtype == torch.float32, "Expecting input to have dtype torch.float32"
    return torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def quantized_decomposed_quantize_per_tensor__tensor(x, scale, zero_point, quant_min: int, quant_max: int, dtype: int):
    return quantized_decomposed_quantize_per_tensor(x, float(scale), int(zero_point), quant_min, quant_max, dtype)


def quantized_decomposed_quantize_per_tensor__tensor2(x, scale, zero_point, quant_min, quant_max, dtype: int):
    return quantized_decomposed_quantize_per_tensor(x, float(scale), int(zero_point), int(quant_min), int(quant_max), dtype)


def quantized_decomposed_dequantize_per_tensor(x, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]):
    assert x.dtype == dtype, "Expecting input to have the dtype that is given"
    return (x.to(torch.float32 if out_dtype is None else out_dtype) - zero_point) * scale


def quantized_decomposed_dequantize_per_tensor__tensor(x, scale, zero_point, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]):
    return quantized_decomposed_dequantize_per_tensor(x, float(scale), int(zero_point), quant_min, quant_max, dtype, out_dtype)


def quantized_decomposed_dequantize_per_tensor__tensor2(x, scale, zero_point, quant_min, quant_max, dtype: int, out_dtype: Optional[int]):
    return quantized_decomposed_dequantize_per_tensor(x, float(scale), int(zero_point), 0, 0, dtype, out_dtype)


# (scale, zero point) of one element each, of the range that holds x and 0.
def qparams_of(x, quant_min: int, quant_max: int, eps: float, symmetric: bool, zero_point: int):
    assert quant_min < quant_max, "Expecting quant_min to be smaller than quant_max"
    low, high = torch.clamp(torch.amin(x), max=0), torch.clamp(torch.amax(x), min=0)
    least = torch.full([], eps, dtype=torch.float32)
    if symmetric:
        scale = torch.maximum(torch.maximum(-low, high) / (float(quant_max - quant_min) / 2), least)
        return scale.reshape([1]).to(torch.float64), torch.full([1], zero_point, dtype=torch.int64)
    scale = torch.maximum((high - low) / float(quant_max - quant_min), least)
    steps = torch.clamp(quant_min - torch.round(low / scale).to(torch.int32), quant_min, quant_max)
    return scale.reshape([1]).to(torch.float64), steps.reshape([1]).to(torch.int64)


def quantized_decomposed_choose_qparams__tensor(x, quant_min: int, quant_max: int, eps: float, dtype: int):
    return qparams_of(x, quant_min, quant_max, eps, False, 0)


def quantized_decomposed_choose_qparams_symmetric__tensor(x, quant_min: int, quant_max: int, eps: float, dtype: int):
    return qparams_of(x, quant_min, quant_max, eps, True, 128 if dtype == torch.uint8 else 0)


def quantized_decomposed_quantize_per_channel(x, scales, zero_points, axis: int, quant_min: int, quant_max: int, dtype: int):
    x = x.to(torch.float32) if x.dtype == torch.float16 or x.dtype == torch.bfloat16 else x
    assert x.dtype == torch.float32, "Expecting input to have dtype torch.float32"
    steps = torch.round(x * (1.0 / along_axis(x, scales, axis))) + along_axis(x, zero_points, axis)
    return torch.clamp(steps, quant_min, quant_max).to(dtype)


def quantized_decomposed_dequantize_per_channel(x, scales, zero_points: Optional[Tensor], axis: int, quant_min: int, quant_max: int, dtype: int, out_dtype: Optional[int]):
    assert x.dtype == dtype, "Expecting input to have the dtype that is given"
    steps = x if zero_points is None else x - along_axis(x, zero_points, axis)
    return (steps * along_axis(x, scales, axis)).to(torch.float32 if out_dtype is None else out_dtype)


def quantized_decomposed_fake_quant_per_channel(x, scales, zero_points, axis: int, quant_min: int, quant_max: int):
    assert x.dtype == torch.float32, "Expecting input to have dtype torch.float32"
    scale = along_axis(x, scales.to(torch.float32), axis)
    zero_point = along_axis(x, zero_points.to(torch.int32), axis)
    return (torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, quant_min, quant_max) - zero_point) * scale


def quantized_decomposed_choose_qparams_per_token(x, dtype: int):
    assert dtype == torch.int8, "unsupported dtype in choose_qparams_per_token"
    most = torch.amax(torch.abs(x), -1, True)
    scales = torch.clamp(most.to(torch.float32) if most.dtype == torch.float16 else most, min=1e-5) / 127
    return scales, torch.zeros_like(scales)


def quantized_decomposed__choose_qparams_per_token_asymmetric_impl(x, dtype: int):
    low, high = torch.clamp(torch.amin(x, -1, True), max=0), torch.clamp(torch.amax(x, -1, True), min=0)
    scale = torch.clamp((high - low) / 255.0, min=1.1920928955078125e-07)
    below, above = low / scale, high / scale
    steps = torch.where((-128 + below) + (127 + above) > 0, -128 - below, 127 - above)
    return scale.to(torch.float64), torch.round(torch.clamp(steps, -128, 127)).to(torch.int64)


def quantized_decomposed_choose_qparams_per_token_asymmetric(x, dtype: int):
    return quantized_decomposed__choose_qparams_per_token_asymmetric_impl(x, dtype)


def quantized_decomposed_quantize_per_token(x, scales, zero_points, quant_min: int, quant_max: int, dtype: int):
    return torch.clamp(torch.round(x * (1.0 / scales) + zero_points), quant_min, quant_max).to(dtype)


def quantized_decomposed_dequantize_per_token(x, scales, zero_points, quant_min: int, quant_max: int, dtype: int, output_dtype: int):
    return ((x - zero_points) * scales).to(output_dtype)


def size_of_groups(x, scales, group_size: int):
    assert group_size > 1 and x.dim() == 2
    size = x.size(-1) if group_size > x.size(-1) and scales.size(-1) == 1 else group_size
    assert x.size(-1) % size == 0
    return size


def quantized_decomposed_quantize_per_channel_group(x, scales, zero_points, quant_min: int, quant_max: int, dtype: int, group_size: int):
    groups = x.reshape([-1, size_of_groups(x, scales, group_size)])
    steps = groups * (1.0 / scales.reshape([-1, 1])) + zero_points.reshape([-1, 1])
    return torch.clamp(torch.round(steps), quant_min, quant_max).to(dtype).reshape(x.size())


def quantized_decomposed_dequantize_per_channel_group(x, scales, zero_points: Optional[Tensor], quant_min: int, quant_max: int, dtype: int, group_size: int, output_dtype: int):
    groups = x.reshape([-1, size_of_groups(x, scales, group_size)])
    steps = groups - torch.zeros([], dtype=torch.int32) if zero_points is None else groups - zero_points.reshape([-1, 1])
    return (steps * scales.reshape([-1, 1])).reshape(x.size()).to(output_dtype)


def quantized_decomposed_convert_element_type__no_fuse(x, dtype: int):
    return x.to(dtype)


# Quantizes x (float32) by `scale` and `zero_point`, within the bounds of `like`'s dtype.
def quantize_like(x, like, scale: float, zero_point: int):
    return torch.quantize_per_tensor(x, scale, zero_point, like.dtype)


def quantized_convolution(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int, relu: bool):
    assert x.dim() == w.dim(), "an input with the dimensions of the weight was expected"
    result = rush.quantized_conv(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, relu)
    return result.contiguous(memory_format=2 if result.dim() == 4 else 3)


def quantized_conv2d(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_convolution(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, False)


def quantized_conv2d_relu(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_convolution(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, True)


def quantized_conv1d(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_convolution(x.unsqueeze(2), w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, False).squeeze(2)


def quantized_conv1d_relu(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_convolution(x.unsqueeze(2), w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, True).squeeze(2)


def quantized_conv3d(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_convolution(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, False)


def quantized_conv3d_relu(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_convolution(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, True)


def quantized_conv_transpose1d(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_conv1d(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point)


def quantized_conv_transpose2d(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_conv2d(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point)


def quantized_conv_transpose3d(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantized_conv3d(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point)


# The input is quantized for its range, and the result for the input's range. Larger results are clipped, as in PyTorch.
def quantized_convolution_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    scales_of_x, zero_points = qparams_of_ranges(torch.amin(x), torch.amax(x), 0, quantization_levels(qnnpack, reduce_range), False)
    scale, zero_point = float(scales_of_x), int(zero_points)
    q = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)
    return quantized_convolution(q, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, scale, zero_point, False).dequantize()


def quantized_conv1d_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    return quantized_convolution_dynamic(x.unsqueeze(2), w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, reduce_range).squeeze(2)


def quantized_conv2d_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    return quantized_convolution_dynamic(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, reduce_range)


def quantized_conv3d_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    return quantized_convolution_dynamic(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, reduce_range)


def quantized_conv_transpose1d_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    return quantized_conv1d_dynamic(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, reduce_range)


def quantized_conv_transpose2d_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    return quantized_conv2d_dynamic(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, reduce_range)


def quantized_conv_transpose3d_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, reduce_range: bool):
    return quantized_conv3d_dynamic(x, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed, reduce_range)


# Only onednn adds another tensor to its sums before they become integers again.
def quantized_convolution_sum(x, other, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool):
    assert not transposed
    integers = x.int_repr().to(torch.float32) - float(torch.q_zero_point(x))
    weight = w.to(torch.float32) - along_axis(w, zeros.to(torch.float32), 0)
    factors = (scales * torch.q_scale(x)).to(torch.float32)
    sums = torch.conv2d(integers, weight, None, stride, padding, dilation, groups) * factors.reshape([1, -1, 1, 1])
    if bias is not None:
        sums = sums + bias.reshape([1, -1, 1, 1])
    return sums + other.dequantize()


def quantized_conv2d_add(x, other, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantize_like(quantized_convolution_sum(x, other, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed), x, scale, zero_point)


def quantized_conv2d_add_relu(x, other, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, stride: List[int], padding: List[int], dilation: List[int], output_padding: List[int], groups: int, transposed: bool, scale: float, zero_point: int):
    return quantize_like(torch.relu(quantized_convolution_sum(x, other, w, scales, zeros, bias, qnnpack, stride, padding, dilation, output_padding, groups, transposed)), x, scale, zero_point)


def linear_by_convolution(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, scale: float, zero_point: int, relu: bool):
    none: List[int] = []
    assert x.size(-1) == w.size(1), "the input's last dimension is not the weight's"
    result = rush.quantized_conv(x.reshape([-1, w.size(1)]), w, scales, zeros, bias, qnnpack, none, none, none, none, 1, False, scale, zero_point, relu)
    return result.reshape(x.size()[:-1] + [w.size(0)])


def quantized_linear(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, scale: float, zero_point: int):
    return linear_by_convolution(x, w, scales, zeros, bias, qnnpack, scale, zero_point, False)


def quantized_linear_relu(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, scale: float, zero_point: int):
    return linear_by_convolution(x, w, scales, zeros, bias, qnnpack, scale, zero_point, True)


# qnnpack uses all levels whatever reduce_range says.
def quantization_levels(qnnpack: bool, reduce_range: bool):
    return 127 if reduce_range and not qnnpack else 255


def quantized_linear_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, reduce_range: bool):
    return rush.linear_dynamic(x, w, scales, zeros, bias, quantization_levels(qnnpack, reduce_range))


def quantized_linear_relu_dynamic(x, w, scales, zeros, bias: Optional[Tensor], qnnpack: bool, reduce_range: bool):
    return torch.relu(quantized_linear_dynamic(x, w, scales, zeros, bias, qnnpack, reduce_range))


def quantized_lstm__input(x, hx: List[Tensor], w, scales, zeros, bias, qnnpack: bool, reduce_range: bool, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, dtype: Optional[int], use_dynamic: bool):
    return rush.lstm_dynamic(x, None, hx, w, scales, zeros, bias, quantization_levels(qnnpack, reduce_range), num_layers, bidirectional, batch_first)


def quantized_lstm__data(data, batch_sizes, hx: List[Tensor], w, scales, zeros, bias, qnnpack: bool, reduce_range: bool, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, dtype: Optional[int], use_dynamic: bool):
    return rush.lstm_dynamic(data, batch_sizes, hx, w, scales, zeros, bias, quantization_levels(qnnpack, reduce_range), num_layers, bidirectional, False)


def quantized_gru__input(x, hx, w, scales, zeros, bias, qnnpack: bool, reduce_range: bool, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool):
    return rush.gru_dynamic(x, None, hx, w, scales, zeros, bias, quantization_levels(qnnpack, reduce_range), num_layers, bidirectional, batch_first)


def quantized_gru__data(data, batch_sizes, hx, w, scales, zeros, bias, qnnpack: bool, reduce_range: bool, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool):
    return rush.gru_dynamic(data, batch_sizes, hx, w, scales, zeros, bias, quantization_levels(qnnpack, reduce_range), num_layers, bidirectional, False)


def quantized_cell_gates(x, hx, w, scale, zero, bias: Optional[Tensor], wh, scale_h, zero_h, bias_h: Optional[Tensor], qnnpack: bool):
    return quantized_linear_dynamic(x, w, scale, zero, bias, qnnpack, False), quantized_linear_dynamic(hx, wh, scale_h, zero_h, bias_h, qnnpack, False)


def quantized_quantized_lstm_cell_dynamic(x, hx: List[Tensor], w, scale, zero, bias: Optional[Tensor], qnnpack: bool, wh, scale_h, zero_h, bias_h: Optional[Tensor], qnnpack_h: bool, bias_ih, bias_hh):
    gates, state = quantized_cell_gates(x, hx[0], w, scale, zero, bias, wh, scale_h, zero_h, bias_h, qnnpack)
    i, f, g, o = torch.chunk(gates + state, 4, 1)
    c = torch.sigmoid(f) * hx[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def quantized_quantized_gru_cell_dynamic(x, hx, w, scale, zero, bias: Optional[Tensor], qnnpack: bool, wh, scale_h, zero_h, bias_h: Optional[Tensor], qnnpack_h: bool, bias_ih, bias_hh):
    gates, state = quantized_cell_gates(x, hx, w, scale, zero, bias, wh, scale_h, zero_h, bias_h, qnnpack)
    r, z, n = torch.chunk(gates, 3, 1)
    hr, hz, hn = torch.chunk(state, 3, 1)
    n = torch.tanh(n + hn * torch.sigmoid(hr + r))
    return (hx - n) * torch.sigmoid(hz + z) + n


def quantized_quantized_rnn_tanh_cell_dynamic(x, hx, w, scale, zero, bias: Optional[Tensor], qnnpack: bool, wh, scale_h, zero_h, bias_h: Optional[Tensor], qnnpack_h: bool, bias_ih, bias_hh):
    gates, state = quantized_cell_gates(x, hx, w, scale, zero, bias, wh, scale_h, zero_h, bias_h, qnnpack)
    return torch.tanh(gates + state)


def quantized_quantized_rnn_relu_cell_dynamic(x, hx, w, scale, zero, bias: Optional[Tensor], qnnpack: bool, wh, scale_h, zero_h, bias_h: Optional[Tensor], qnnpack_h: bool, bias_ih, bias_hh):
    gates, state = quantized_cell_gates(x, hx, w, scale, zero, bias, wh, scale_h, zero_h, bias_h, qnnpack)
    return torch.relu(gates + state)


# Bytes are added and multiplied in C.
def quantized_sum(a, b, scale: float, zero_point: int, relu: bool):
    if a.dtype != torch.qint32:
        return rush.quantized_sum(a, b, scale, zero_point, relu)
    result = a.dequantize() + b.dequantize()
    return quantize_like(torch.relu(result) if relu else result, a, scale, zero_point)


def quantized_sum_by_qnnpack(a, b, scale: float, zero_point: int, relu: bool):
    if a.dtype != torch.qint32:
        return rush.quantized_sum_of_qnnpack(a, b, scale, zero_point, relu)
    return quantized_sum(a, b, scale, zero_point, relu)


# Replaces quantized_add if qnnpack is the engine.
def quantized_add_by_qnnpack(a, b, scale: float, zero_point: int):
    return quantized_sum_by_qnnpack(a, b, scale, zero_point, False)


def quantized_add_relu_by_qnnpack(a, b, scale: float, zero_point: int):
    return quantized_sum_by_qnnpack(a, b, scale, zero_point, True)


def quantized_add(a, b, scale: float, zero_point: int):
    return quantized_sum(a, b, scale, zero_point, False)


def quantized_add_relu(a, b, scale: float, zero_point: int):
    return quantized_sum(a, b, scale, zero_point, True)


# Multiplies integers and rounds them before it adds the zero point, because equal scales make many halves.
def quantized_product(a, b, scale: float, zero_point: int, relu: bool):
    if a.dtype != torch.qint32:
        return rush.quantized_product(a, b, scale, zero_point, relu)
    steps = ((a.int_repr() - torch.q_zero_point(a)) * (b.int_repr() - torch.q_zero_point(b))).to(torch.float32)
    step = torch.full([], torch.q_scale(a), dtype=torch.float32) * torch.full([], torch.q_scale(b), dtype=torch.float32)
    result = torch.round(steps * (step * (1.0 / torch.full([], scale, dtype=torch.float32)))) * scale
    return quantize_like(torch.relu(result) if relu else result, a, scale, zero_point)


def quantized_mul(a, b, scale: float, zero_point: int):
    return quantized_product(a, b, scale, zero_point, False)


def quantized_mul_relu(a, b, scale: float, zero_point: int):
    return quantized_product(a, b, scale, zero_point, True)


def quantized_times_number(x, factor: float, relu: bool):
    """Returns the same integers at another scale. For a negative number, they are counted from the other end of their range."""
    integers, zero = x.int_repr(), torch.q_zero_point(x)
    if factor == 0.0:
        return torch._make_per_tensor_quantized_tensor(torch.zeros_like(integers), 1.0, 0)
    if factor < 0.0:
        ends = 255 if x.dtype == torch.quint8 else -1
        integers, zero = (ends - integers.to(torch.int32)).to(integers.dtype), ends - zero
    if relu:
        integers = torch.clamp_min(integers, zero)
    return torch._make_per_tensor_quantized_tensor(integers, torch.q_scale(x) * abs(factor), zero)


def quantized_mul__Scalar(x, b: number):
    return quantized_times_number(x, float(b), False)


def quantized_mul__Scalar2(b: number, x):
    return quantized_times_number(x, float(b), False)


def quantized_mul_relu__Scalar(x, b: number):
    return quantized_times_number(x, float(b), True)


def quantized_mul_relu__Scalar2(b: number, x):
    return quantized_times_number(x, float(b), True)


def quantized_tensors(tensors: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int], relu: bool):
    unit = torch.q_scale(tensors[0]) if scale is None else scale
    zero = torch.q_zero_point(tensors[0]) if zero_point is None else zero_point
    if tensors[0].dtype != torch.qint32:
        return rush.quantized_cat(tensors, dim, unit, zero, relu)
    numbers = torch.cat([x.dequantize() for x in tensors], dim)
    return quantize_like(torch.relu(numbers) if relu else numbers, tensors[0], unit, zero)


def quantized_cat(tensors: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int]):
    return quantized_tensors(tensors, dim, scale, zero_point, False)


def quantized_cat_relu(tensors: List[Tensor], dim: int, scale: Optional[float], zero_point: Optional[int]):
    return quantized_tensors(tensors, dim, scale, zero_point, True)


def quantized_relu6(x, inplace: bool):
    return torch.relu6_(x) if inplace else torch.relu6(x)


# A function of one element is computed once for each byte and then looked up, if that is less work.
def has_table(x):
    return x.dtype != torch.qint32 and x.numel() > 256


def numbers_of(x):
    if not has_table(x):
        return x.dequantize()
    integers = torch.arange(256).to(torch.uint8 if x.dtype == torch.quint8 else torch.int8)
    return torch._make_per_tensor_quantized_tensor(integers, torch.q_scale(x), torch.q_zero_point(x)).dequantize()


# `result` is the function's result for numbers_of(x).
def quantized_by_table_or(result, x, scale: float, zero_point: int):
    q = quantize_like(result, x, scale, zero_point)
    return rush.quantized_by_table(x, q) if has_table(x) else q


def quantized_leaky_relu(x, slope: number, inplace: bool, scale: float, zero_point: int):
    return quantized_by_table_or(torch.leaky_relu(numbers_of(x), slope), x, scale, zero_point)


def quantized_hardswish(x, scale: float, zero_point: int):
    return quantized_by_table_or(torch.hardswish(numbers_of(x)), x, scale, zero_point)


def quantized_elu(x, scale: float, zero_point: int, alpha: number, output_factor: number, input_factor: number):
    return quantized_by_table_or(torch.elu(numbers_of(x), alpha, output_factor, input_factor), x, scale, zero_point)


def quantized_celu(x, scale: float, zero_point: int, alpha: number):
    return quantized_by_table_or(torch.celu(numbers_of(x), alpha), x, scale, zero_point)


def quantized_sigmoid(x, scale: float, zero_point: int):
    return quantized_by_table_or(torch.sigmoid(numbers_of(x)), x, scale, zero_point)


def quantized_softmax(x, dim: int, scale: float, zero_point: int):
    return quantize_like(torch.softmax(x.dequantize(), dim), x, scale, zero_point)


def quantized_layer_norm(x, sizes: List[int], weight: Optional[Tensor], bias: Optional[Tensor], eps: float, scale: float, zero_point: int):
    return quantize_like(torch.layer_norm(x.dequantize(), sizes, weight, bias, eps, False), x, scale, zero_point)


def quantized_group_norm(x, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, scale: float, zero_point: int):
    return quantize_like(torch.group_norm(x.dequantize(), groups, weight, bias, eps, False), x, scale, zero_point)


def quantized_instance_norm(x, weight: Optional[Tensor], bias: Optional[Tensor], eps: float, scale: float, zero_point: int):
    return quantize_like(torch.instance_norm(x.dequantize(), weight, bias, None, None, True, 0.0, eps, False), x, scale, zero_point)


def quantized_batch_norm(x, weight: Optional[Tensor], bias: Optional[Tensor], mean, var, eps: float, scale: float, zero_point: int):
    return quantize_like(torch.batch_norm(x.dequantize(), weight, bias, mean, var, False, 0.0, eps, False), x, scale, zero_point)


def quantized_batch_norm1d(x, weight: Optional[Tensor], bias: Optional[Tensor], mean, var, eps: float, scale: float, zero_point: int):
    return quantized_batch_norm(x, weight, bias, mean, var, eps, scale, zero_point)


def quantized_batch_norm2d(x, weight: Optional[Tensor], bias: Optional[Tensor], mean, var, eps: float, scale: float, zero_point: int):
    return quantized_batch_norm(x, weight, bias, mean, var, eps, scale, zero_point)


def quantized_batch_norm3d(x, weight: Optional[Tensor], bias: Optional[Tensor], mean, var, eps: float, scale: float, zero_point: int):
    return quantized_batch_norm(x, weight, bias, mean, var, eps, scale, zero_point)


def quantized_batch_norm2d_relu(x, weight: Optional[Tensor], bias: Optional[Tensor], mean, var, eps: float, scale: float, zero_point: int):
    return torch.relu(quantized_batch_norm(x, weight, bias, mean, var, eps, scale, zero_point))


def quantized_batch_norm3d_relu(x, weight: Optional[Tensor], bias: Optional[Tensor], mean, var, eps: float, scale: float, zero_point: int):
    return torch.relu(quantized_batch_norm(x, weight, bias, mean, var, eps, scale, zero_point))


def quantized_dropout(x, scale: float, zero_point: int, p: number, training: bool):
    return x


# Tables of rows with a scale and a bias each, as in qembeddingbag.cpp and qembeddingbag_prepack.cpp of aten/src/ATen/native/quantized/cpu. Bags are sums for every `mode`.
def quantized_rows(table, bits: int, indices):
    assert indices.dim() == 1 or indices.dim() == 2, "qembedding/qembedding_bag operator supports 1 or 2d indices, got {}".format(indices.dim())
    result = rush.embedding_rows(table, indices.reshape([-1]), None, None, None, bits, False)
    return result.reshape(indices.size() + [result.size(1)])


def quantized_bags(table, bits: int, indices, offsets: Optional[Tensor], pruned_weights: bool, factors: Optional[Tensor], mapping: Optional[Tensor], include_last_offset: bool):
    assert indices.dim() == 1 or indices.dim() == 2, "qembedding/qembedding_bag operator supports 1 or 2d indices, got {}".format(indices.dim())
    if indices.dim() == 2:
        assert offsets is None, "input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences."
        offsets = torch.arange(0, indices.numel(), indices.size(1), dtype=indices.dtype)
    assert offsets is not None, "expects offsets to be set for 1D indices."
    rows: Optional[Tensor] = None
    if mapping is not None:
        if pruned_weights and not (mapping.numel() == 1 and int(mapping[0]) == 0):
            rows = mapping
    return rush.embedding_rows(table, indices.reshape([-1]), offsets, factors, rows, bits, include_last_offset)


def quantized_embedding_byte(table, indices, pruned_weights: bool):
    return quantized_rows(table, 8, indices)


def quantized_embedding_4bit(table, indices, pruned_weights: bool):
    return quantized_rows(table, 4, indices)


def quantized_embedding_bag_byte(table, indices, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, factors: Optional[Tensor], mapping: Optional[Tensor], include_last_offset: bool):
    return quantized_bags(table, 8, indices, offsets, pruned_weights, factors, mapping, include_last_offset)


def quantized_embedding_bag_4bit(table, indices, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, factors: Optional[Tensor], mapping: Optional[Tensor], include_last_offset: bool):
    return quantized_bags(table, 4, indices, offsets, pruned_weights, factors, mapping, include_last_offset)


def quantized_embedding_bag_byte_rowwise_offsets(table, indices, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, factors: Optional[Tensor], mapping: Optional[Tensor], include_last_offset: bool):
    return quantized_bags(table, 8, indices, offsets, pruned_weights, factors, mapping, include_last_offset)


def quantized_embedding_bag_4bit_rowwise_offsets(table, indices, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, factors: Optional[Tensor], mapping: Optional[Tensor], include_last_offset: bool):
    return quantized_bags(table, 4, indices, offsets, pruned_weights, factors, mapping, include_last_offset)


def quantized_embedding_bag_2bit_rowwise_offsets(table, indices, offsets: Optional[Tensor], scale_grad_by_freq: bool, mode: int, pruned_weights: bool, factors: Optional[Tensor], mapping: Optional[Tensor], include_last_offset: bool):
    return quantized_bags(table, 2, indices, offsets, pruned_weights, factors, mapping, include_last_offset)


def quantized_embedding_bag_byte_prepack(weight):
    low = torch.amin(weight, -1, True)
    span = torch.amax(weight, -1, True) - low
    steps = torch.round((weight - low) * (torch.full_like(span, 255) / (span + 1e-8)))
    return torch.cat([steps.to(torch.uint8), rush.view_dtype(torch.cat([span / 255.0, low], -1), torch.uint8)], -1)


def quantized_embedding_bag_byte_unpack(table):
    n = table.size(-1) - 8
    numbers = rush.view_dtype(torch.narrow(table, -1, n, 8).contiguous(), torch.float32)
    return torch.narrow(table, -1, 0, n) * torch.narrow(numbers, -1, 0, 1) + torch.narrow(numbers, -1, 1, 1)


# Unpacks integers of a few bits: several are in a byte, and the first is in its lowest bits.
def embedding_rows_packed(weight, bits: int, optimized_qparams: bool):
    assert not optimized_qparams, "optimized_qparams: pack such weights before the export"
    most, each = (1 << bits) - 1, 8 // bits
    assert weight.size(-1) % each == 0, "only works for the number of columns a multiple of {}".format(each)
    low = torch.amin(weight, -1, True).to(torch.float16).to(torch.float32)
    span = torch.amax(weight, -1, True) - low
    ones = torch.ones_like(span)
    scale = torch.where(span == 0, ones, span / float(most)).to(torch.float16).to(torch.float32)
    scale = torch.where(torch.logical_or(scale == 0, torch.isinf(ones / scale)), ones, scale)
    steps = torch.clamp(torch.round((weight - low) * (ones / scale)), 0, most).to(torch.int32)
    packed = torch.sum(steps.reshape([weight.size(0), -1, each]) * torch.pow(2, torch.arange(0, 8, bits)), -1).to(torch.uint8)
    return torch.cat([packed, rush.view_dtype(torch.cat([scale, low], -1).to(torch.float16), torch.uint8)], -1)


def embedding_rows_unpacked(table, bits: int):
    n = table.size(-1) - 4
    numbers = rush.view_dtype(torch.narrow(table, -1, n, 4).contiguous(), torch.float16).to(torch.float32)
    steps = torch.narrow(table, -1, 0, n).to(torch.int32).unsqueeze(-1) // torch.pow(2, torch.arange(0, 8, bits)) % (1 << bits)
    return steps.reshape([table.size(0), -1]) * torch.narrow(numbers, -1, 0, 1) + torch.narrow(numbers, -1, 1, 1)


def quantized_embedding_bag_4bit_prepack(weight, optimized_qparams: bool, nbins: int, ratio: float):
    return embedding_rows_packed(weight, 4, optimized_qparams)


def quantized_embedding_bag_4bit_unpack(table):
    return embedding_rows_unpacked(table, 4)


def quantized_embedding_bag_2bit_prepack(weight, optimized_qparams: bool, nbins: int, ratio: float):
    return embedding_rows_packed(weight, 2, optimized_qparams)


def quantized_embedding_bag_2bit_unpack(table):
    return embedding_rows_unpacked(table, 2)
