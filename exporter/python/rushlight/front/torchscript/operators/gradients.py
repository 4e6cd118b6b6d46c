# The operators that autograd calls for gradients in forward. Follows torch/_decomp/decompositions.py and aten/src/ATen/native.


def opmath(x):
    """PyTorch computes halves in float32, and rounds the result once."""
    return x.to(torch.float32) if x.dtype == torch.float16 or x.dtype == torch.bfloat16 else x


def value_for_dim(numbers: List[int], k: int):
    """One number stands for all dimensions."""
    return numbers[k] if len(numbers) > 1 else numbers[0]


def undefined_gradient(x):
    """Stands for a gradient that output_mask leaves out. PyTorch gives an undefined tensor there, which nothing can read."""
    return torch.empty([0], dtype=x.dtype)


# ---- Activations


def tanh_backward(grad_output, output):
    g, y = opmath(grad_output), opmath(output)
    return (g * torch.conj_physical(1 - y * y)).to(grad_output.dtype)


def sigmoid_backward(grad_output, output):
    g, y = opmath(grad_output), opmath(output)
    return (g * torch.conj_physical((1 - y) * y)).to(grad_output.dtype)


def threshold_backward(grad_output, x, threshold: number):
    return torch.where(opmath(x) <= threshold, torch.zeros_like(grad_output), grad_output)


def hardtanh_backward(grad_output, x, min_val: number, max_val: number):
    at = opmath(x)
    return torch.where(torch.logical_or(at <= min_val, at >= max_val), torch.zeros_like(grad_output), grad_output)


def hardsigmoid_backward(grad_output, x):
    g = opmath(grad_output)
    return torch.where(torch.logical_and(x > -3, x < 3), g * (1.0 / 6.0), torch.zeros_like(g)).to(grad_output.dtype)


def hardswish_backward(grad_output, x):
    g, at = opmath(grad_output), opmath(x)
    inside = at < 3 if at.dtype == x.dtype else at <= 3  # as PyTorch's vectors of floats and of halves compute it
    middle = torch.where(inside, g * (at / 3 + 0.5), g)
    return torch.where(at < -3, torch.zeros_like(g), middle).to(grad_output.dtype)


def silu_backward(grad_output, x):
    g, at = opmath(grad_output), opmath(x)
    s = torch.sigmoid(at)
    return (g * s * (1 + at * (1 - s))).to(grad_output.dtype)


def mish_backward(grad_output, x):
    g, at = opmath(grad_output), opmath(x)
    t = torch.tanh(torch.log1p(torch.exp(at)))
    return (g * (t + at * torch.sigmoid(at) * (1 - t * t))).to(grad_output.dtype)


def gelu_backward(grad_output, x, approximate: str):
    g, at = opmath(grad_output), opmath(x)
    if approximate == "tanh":
        factor, cubic = 0.7978845608028654, 0.044715
        t = torch.tanh(factor * (at + cubic * at * at * at))
        slope = 0.5 * at * (1 - t * t) * (factor * (1 + 3 * cubic * at * at))
        return (g * (0.5 * (1 + t) + slope)).to(grad_output.dtype)
    density = 0.3989422804014327 * torch.exp(at * at * -0.5)
    return (g * (0.5 * (1 + torch.erf(at * 0.7071067811865476)) + at * density)).to(grad_output.dtype)


def elu_backward(grad_output, alpha: number, scale: number, input_scale: number, is_result: bool, x):
    g, at = opmath(grad_output), opmath(x)
    below, inner = float(alpha) * float(scale), float(input_scale)
    if is_result:
        assert float(alpha) >= 0, "In-place elu backward calculation is triggered with a negative slope which is not supported."
        slope = inner * (at + below)
    else:
        slope = inner * below * torch.exp(at * inner)
    return torch.where(at <= 0, g * slope, g * float(scale)).to(grad_output.dtype)


def leaky_relu_backward(grad_output, x, negative_slope: number, self_is_result: bool):
    assert not self_is_result or float(negative_slope) >= 0, "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported."
    g = opmath(grad_output)
    return torch.where(x > 0, g, g * negative_slope).to(grad_output.dtype)


def rrelu_with_noise_backward(grad_output, x, noise, lower: number, upper: number, training: bool, self_is_result: bool):
    if training and float(upper) - float(lower) > 1e-6:
        return noise * grad_output
    return leaky_relu_backward(grad_output, x, (float(lower) + float(upper)) / 2, self_is_result)


def _prelu_kernel_backward(grad_output, x, weight):
    g, at, w = opmath(grad_output), opmath(x), opmath(weight)
    of_x, of_weight = torch.where(at > 0, g, w * g), torch.where(at > 0, torch.zeros_like(g), at * g)
    return of_x.to(x.dtype), of_weight.to(x.dtype)


def softplus_backward(grad_output, x, beta: number, threshold: number):
    g, at = opmath(grad_output), opmath(x)
    z = torch.exp(at * beta)
    return torch.where(at * beta > threshold, g, g * z / (z + 1)).to(grad_output.dtype)


def shrink_backward(grad_output, x, lambd: number):
    return torch.where(torch.logical_and(x >= -float(lambd), x <= float(lambd)), torch.zeros_like(grad_output), grad_output)


def softshrink_backward(grad_output, x, lambd: number):
    return shrink_backward(grad_output, x, lambd)


def hardshrink_backward(grad_output, x, lambd: number):
    return shrink_backward(grad_output, x, lambd)


def glu_backward(grad_output, x, dim: int):
    half = x.size(dim) // 2
    g, value = opmath(grad_output), opmath(torch.narrow(x, dim, 0, half))
    s = opmath(torch.sigmoid(torch.narrow(x, dim, half, half)))
    return torch.cat([g * s, (1 - s) * s * g * value], dim).to(grad_output.dtype)


def log_sigmoid_forward(x):
    return torch.log_sigmoid(x), torch.exp(-torch.abs(opmath(x))).to(x.dtype)


def log_sigmoid_backward(grad_output, x, buffer):
    g, z = opmath(grad_output), opmath(buffer)
    below = x < 0
    rest = z / (1 + z)
    return (g * torch.where(below, 1 - rest, rest)).to(grad_output.dtype)


def logit_backward(grad_output, x, eps: Optional[float]):
    g, at = opmath(grad_output), opmath(x)
    outside, low = float("nan"), 0.0
    if eps is not None and eps >= 0:
        outside, low = 0.0, eps
    return torch.where(torch.logical_or(x < low, x > 1 - low), torch.full_like(g, outside), g / (at * (1 - at))).to(grad_output.dtype)


def native_dropout_backward(grad_output, mask, scale: float):
    return grad_output * (mask.to(grad_output.dtype) * scale)


def _softmax_backward_data(grad_output, output, dim: int, input_dtype: int):
    g, y = opmath(grad_output), opmath(output)
    return (y * (g - opmath(torch.sum(y * g, [dim], True).to(output.dtype)))).to(input_dtype)


def _masked_softmax_backward(grad_output, output, mask, dim: Optional[int]):
    """Masked elements get no gradient."""
    g = torch.masked_fill(grad_output, mask, 0) * output
    return torch.masked_fill(g - output * torch.sum(g, [-1 if dim is None else dim], True), mask, 0)


def _log_softmax_backward_data(grad_output, output, dim: int, input_dtype: int):
    g, y = opmath(grad_output), opmath(output)
    return (g - torch.exp(y) * opmath(torch.sum(g, [dim], True).to(output.dtype))).to(input_dtype)


# ---- Norms


def sum_leading_dims(x, first: int, dtype: int):
    """Returns the sum over the dimensions before `first`."""
    return (torch.sum(x, [d for d in range(first)]) if first > 0 else x).to(dtype)


def normalize_backward(g, normed, rstd, dims: List[int]):
    """Returns the gradient of (x - mean) * rstd, with the mean and variance over `dims`."""
    return rstd * (g - torch.mean(g, dims, True) - normed * torch.mean(g * normed, dims, True))


def native_layer_norm_backward(grad_out, x, normalized_shape: List[int], mean, rstd, weight: Optional[Tensor], bias: Optional[Tensor],
                               output_mask: List[bool]):
    g = opmath(grad_out)
    first = x.dim() - len(normalized_shape)
    outer = x.size()[:first] + [1 for _ in normalized_shape]
    inverse = opmath(rstd).view(outer)
    normed = (opmath(x) - opmath(mean).view(outer)) * inverse
    of_x, of_weight, of_bias = undefined_gradient(x), undefined_gradient(x), undefined_gradient(x)
    if output_mask[0]:
        inner = g if weight is None else g * opmath(weight)
        of_x = normalize_backward(inner, normed, inverse, [d for d in range(first, x.dim())]).to(x.dtype)
    if output_mask[1]:
        of_weight = sum_leading_dims(g * normed, first, x.dtype if weight is None else weight.dtype)
    if output_mask[2]:
        of_bias = sum_leading_dims(g, first, x.dtype if bias is None else bias.dtype)
    return of_x, of_weight, of_bias


def native_group_norm_backward(grad_out, x, mean, rstd, weight: Optional[Tensor], N: int, C: int, HxW: int, group: int, output_mask: List[bool]):
    g, sizes = opmath(grad_out).reshape([N, group, C // group, HxW]), [N, group, 1, 1]
    inverse = opmath(rstd).reshape(sizes)
    normed = (opmath(x).reshape([N, group, C // group, HxW]) - opmath(mean).reshape(sizes)) * inverse
    of_x, of_weight, of_bias = undefined_gradient(x), undefined_gradient(x), undefined_gradient(x)
    dtype = x.dtype if weight is None else weight.dtype
    if output_mask[0]:
        inner = g if weight is None else g * opmath(weight).view([1, group, C // group, 1])
        of_x = normalize_backward(inner, normed, inverse, [2, 3]).view(x.size()).to(x.dtype)
    if output_mask[1]:
        of_weight = torch.sum(g * normed, [0, 3]).view([C]).to(dtype)
    if output_mask[2]:
        of_bias = torch.sum(g, [0, 3]).view([C]).to(dtype)
    return of_x, of_weight, of_bias


def native_batch_norm_backward(grad_out, x, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor],
                               save_mean: Optional[Tensor], save_invstd: Optional[Tensor], train: bool, eps: float, output_mask: List[bool]):
    g = opmath(grad_out)
    sizes = [1 for _ in range(x.dim())]
    sizes[1] = x.size(1)
    dims = [0] + [d for d in range(2, x.dim())]
    mean, inverse = undefined_gradient(g), undefined_gradient(g)
    if train:
        if save_mean is not None and save_invstd is not None:
            mean, inverse = opmath(save_mean).view(sizes), opmath(save_invstd).view(sizes)
    elif running_mean is not None and running_var is not None:
        mean, inverse = opmath(running_mean).view(sizes), torch.rsqrt(opmath(running_var) + eps).view(sizes)
    normed = (opmath(x) - mean) * inverse
    dtype = x.dtype if weight is None else weight.dtype
    of_x, of_weight, of_bias = undefined_gradient(x), undefined_gradient(x), undefined_gradient(x)
    if output_mask[0]:
        inner = g if weight is None else g * opmath(weight).view(sizes)
        of_x = (normalize_backward(inner, normed, inverse, dims) if train else inner * inverse).to(x.dtype)
    if output_mask[1]:
        of_weight = torch.sum(g * normed, dims).to(dtype)
    if output_mask[2]:
        of_bias = torch.sum(g, dims).to(dtype)
    return of_x, of_weight, of_bias


def batch_norm_backward(grad_out, x, weight, running_mean: Optional[Tensor], running_var: Optional[Tensor], save_mean: Optional[Tensor],
                        save_var: Optional[Tensor], update: bool, eps: float, output_mask: List[bool], reserve):
    return native_batch_norm_backward(grad_out, x, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask)


def _weight_norm_interface(v, g, dim: int):
    norms = norm_except_dim(v, 2, dim)
    return v * (g / norms), norms


def _weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim: int):
    sums = torch.sum(grad_w * saved_v, dims_except(saved_v, dim), True)
    return saved_g / saved_norms * (grad_w - saved_v * (sums / (saved_norms * saved_norms))), sums / saved_norms


# ---- Convolutions


def convolution_input_backward(g, weight, sizes: List[int], stride: List[int], padding: List[int], dilation: List[int], transposed: bool, groups: int):
    over: List[int] = []
    for k in range(g.dim() - 2):
        reach = (g.size(2 + k) - 1) * value_for_dim(stride, k) - 2 * value_for_dim(padding, k) + value_for_dim(dilation, k) * (weight.size(2 + k) - 1) + 1
        over.append(0 if transposed else sizes[2 + k] - reach)
    out = torch.convolution(g, weight, None, stride, padding, dilation, not transposed, over, groups)
    for k in range(g.dim() - 2):
        out = torch.narrow(out, 2 + k, 0, sizes[2 + k])
    return out


def convolution_weight_backward(g, x, sizes: List[int], stride: List[int], padding: List[int], dilation: List[int], groups: int):
    """A convolution in which batch and channels have changed places: x is [C, groups * N, ...], g the weight."""
    count, channels = x.size(0), x.size(1) // groups
    rest = x.size()[2:]
    turned = x.reshape([count, groups, channels] + rest).transpose(0, 2).reshape([channels, groups * count] + rest)
    out = torch.convolution(turned, g.transpose(0, 1), None, dilation, padding, stride, False, [0 for _ in stride], groups).transpose(0, 1)
    for k in range(g.dim() - 2):
        out = torch.narrow(out, 2 + k, 0, sizes[2 + k])
    return out.contiguous()


def convolution_backward(grad_output, x, weight, bias_sizes: Optional[List[int]], stride: List[int], padding: List[int], dilation: List[int],
                         transposed: bool, output_padding: List[int], groups: int, output_mask: List[bool]):
    of_x, of_weight, of_bias = undefined_gradient(x), undefined_gradient(x), undefined_gradient(x)
    if output_mask[0]:
        of_x = convolution_input_backward(grad_output, weight, x.size(), stride, padding, dilation, transposed, groups)
    if output_mask[1]:
        g, at = (x, grad_output) if transposed else (grad_output, x)
        of_weight = convolution_weight_backward(g, at, weight.size(), stride, padding, dilation, groups)
    if output_mask[2]:
        of_bias = torch.sum(grad_output, [0] + [d for d in range(2, x.dim())])
    return of_x, of_weight, of_bias


def conv_tbc_backward(grad_output, x, weight, bias, pad: int):
    g, at = grad_output.permute([1, 2, 0]), x.permute([1, 2, 0])
    of_x, of_weight, of_bias = convolution_backward(g, at, weight.permute([2, 1, 0]), None, [1], [pad], [1], False, [0], 1, [True, True, True])
    return of_x.permute([2, 0, 1]), of_weight.permute([2, 1, 0]), of_bias


# ---- Pools, pads and samples: the result of each dimension is a matrix [out, in] times the input


def multiply_last_dims(g, matrices: List[Tensor]):
    """Returns the gradient of a function that multiplies each of the last dimensions by a matrix."""
    out = opmath(g)
    for k in range(len(matrices)):
        dim = g.dim() - len(matrices) + k
        out = torch.matmul(out.transpose(dim, -1), matrices[k]).transpose(dim, -1)
    return out.to(g.dtype).contiguous()


def window_matrix(begin, end, lengths, size: int, dtype: int):
    """Row i has 1 / lengths[i] from begin[i] to end[i]."""
    at = torch.arange(size)
    inside = torch.logical_and(at >= begin.unsqueeze(1), at < end.unsqueeze(1))
    return inside.to(dtype) / lengths.unsqueeze(1).to(dtype)


def avg_pool_backward(rank: int, g, x, kernel: List[int], stride: List[int], padding: List[int], count_include_pad: bool, divisor: Optional[int]):
    matrices: List[Tensor] = []
    for k in range(rank):
        size, pad = x.size(x.dim() - rank + k), value_for_dim(padding, k)
        step = value_for_dim(stride, k) if len(stride) > 0 else value_for_dim(kernel, k)
        begin = torch.arange(g.size(g.dim() - rank + k)) * step - pad
        end = torch.clamp_max(begin + value_for_dim(kernel, k), size + pad)
        first, last = torch.clamp_min(begin, 0), torch.clamp_max(end, size)
        lengths = end - begin if count_include_pad else last - first
        matrices.append(window_matrix(first, last, lengths if divisor is None else torch.ones_like(lengths), size, opmath(g).dtype))
    return multiply_last_dims(g if divisor is None else g / divisor, matrices)


def avg_pool2d_backward(grad_output, x, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool,
                        divisor_override: Optional[int]):
    return avg_pool_backward(2, grad_output, x, kernel_size, stride, padding, count_include_pad, divisor_override)


def avg_pool3d_backward(grad_output, x, kernel_size: List[int], stride: List[int], padding: List[int], ceil_mode: bool, count_include_pad: bool,
                        divisor_override: Optional[int]):
    return avg_pool_backward(3, grad_output, x, kernel_size, stride, padding, count_include_pad, divisor_override)


def adaptive_avg_pool_backward(g, x, rank: int):
    matrices: List[Tensor] = []
    for d in range(x.dim() - rank, x.dim()):
        size, out = x.size(d), g.size(d)
        at = torch.arange(out)
        begin, end = torch.floor_divide(at * size, out), torch.floor_divide((at + 1) * size + out - 1, out)
        matrices.append(window_matrix(begin, end, end - begin, size, opmath(g).dtype))
    return multiply_last_dims(g, matrices)


def _adaptive_avg_pool2d_backward(grad_output, x):
    return adaptive_avg_pool_backward(grad_output, x, 2)


def _adaptive_avg_pool3d_backward(grad_output, x):
    return adaptive_avg_pool_backward(grad_output, x, 3)


def max_pool_backward(g, x, indices, rank: int):
    flat = torch.zeros(x.size(), dtype=x.dtype).flatten(-rank)
    return torch.scatter_add(flat, -1, indices.flatten(-rank), g.flatten(-rank)).view(x.size())


def max_pool2d_with_indices_backward(grad_output, x, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int],
                                     ceil_mode: bool, indices):
    return max_pool_backward(grad_output, x, indices, 2)


def max_pool3d_with_indices_backward(grad_output, x, kernel_size: List[int], stride: List[int], padding: List[int], dilation: List[int],
                                     ceil_mode: bool, indices):
    return max_pool_backward(grad_output, x, indices, 3)


def adaptive_max_pool2d_backward(grad_output, x, indices):
    return max_pool_backward(grad_output, x, indices, 2)


def adaptive_max_pool3d_backward(grad_output, x, indices):
    return max_pool_backward(grad_output, x, indices, 3)


def fractional_max_pool2d_backward(grad_output, x, kernel_size: List[int], output_size: List[int], indices):
    return max_pool_backward(grad_output, x, indices, 2)


def fractional_max_pool3d_backward(grad_output, x, kernel_size: List[int], output_size: List[int], indices):
    return max_pool_backward(grad_output, x, indices, 3)


def pad_backward(g, x, padding: List[int], mode: str):
    rank = len(padding) // 2
    sizes = x.size()[x.dim() - rank:]
    count = 1
    for n in sizes:
        count *= n
    source = torch.pad(torch.arange(count).view([1, 1] + sizes), padding, mode).flatten()
    lines = g.flatten(-rank)
    flat = torch.zeros(x.size()[:x.dim() - rank] + [count], dtype=x.dtype)
    return torch.scatter_add(flat, -1, source.expand_as(lines), lines).view(x.size())


def reflection_pad1d_backward(grad_output, x, padding: List[int]):
    return pad_backward(grad_output, x, padding, "reflect")


def reflection_pad2d_backward(grad_output, x, padding: List[int]):
    return pad_backward(grad_output, x, padding, "reflect")


def reflection_pad3d_backward(grad_output, x, padding: List[int]):
    return pad_backward(grad_output, x, padding, "reflect")


def replication_pad1d_backward(grad_output, x, padding: List[int]):
    return pad_backward(grad_output, x, padding, "replicate")


def replication_pad2d_backward(grad_output, x, padding: List[int]):
    return pad_backward(grad_output, x, padding, "replicate")


def replication_pad3d_backward(grad_output, x, padding: List[int]):
    return pad_backward(grad_output, x, padding, "replicate")


def nearest_matrix(g, size: int, out: int, scale: Optional[float], exact: bool):
    unit = torch.eye(size, dtype=opmath(g).dtype).unsqueeze(0)
    return (torch._upsample_nearest_exact1d(unit, [out], scale) if exact else torch.upsample_nearest1d(unit, [out], scale))[0].t()


def nearest_backward(g, sizes: List[int], scales: List[Optional[float]], exact: bool):
    return multiply_last_dims(g, [nearest_matrix(g, sizes[2 + k], g.size(2 + k), scales[k], exact) for k in range(len(scales))])


def upsample_nearest1d_backward(grad_output, output_size: List[int], input_size: List[int], scales: Optional[float]):
    return nearest_backward(grad_output, input_size, [scales], False)


def upsample_nearest2d_backward(grad_output, output_size: List[int], input_size: List[int], scales_h: Optional[float], scales_w: Optional[float]):
    return nearest_backward(grad_output, input_size, [scales_h, scales_w], False)


def upsample_nearest3d_backward(grad_output, output_size: List[int], input_size: List[int], scales_d: Optional[float], scales_h: Optional[float],
                                scales_w: Optional[float]):
    return nearest_backward(grad_output, input_size, [scales_d, scales_h, scales_w], False)


def _upsample_nearest_exact1d_backward(grad_output, output_size: List[int], input_size: List[int], scales: Optional[float]):
    return nearest_backward(grad_output, input_size, [scales], True)


def _upsample_nearest_exact2d_backward(grad_output, output_size: List[int], input_size: List[int], scales_h: Optional[float],
                                       scales_w: Optional[float]):
    return nearest_backward(grad_output, input_size, [scales_h, scales_w], True)


def _upsample_nearest_exact3d_backward(grad_output, output_size: List[int], input_size: List[int], scales_d: Optional[float],
                                       scales_h: Optional[float], scales_w: Optional[float]):
    return nearest_backward(grad_output, input_size, [scales_d, scales_h, scales_w], True)


def linear_matrix(g, size: int, out: int, align_corners: bool, scale: Optional[float]):
    return torch.upsample_linear1d(torch.eye(size, dtype=opmath(g).dtype).unsqueeze(0), [out], align_corners, scale)[0].t()


def linear_sample_backward(g, sizes: List[int], align_corners: bool, scales: List[Optional[float]]):
    return multiply_last_dims(g, [linear_matrix(g, sizes[2 + k], g.size(2 + k), align_corners, scales[k]) for k in range(len(scales))])


def upsample_linear1d_backward(grad_output, output_size: List[int], input_size: List[int], align_corners: bool, scales: Optional[float]):
    return linear_sample_backward(grad_output, input_size, align_corners, [scales])


def upsample_bilinear2d_backward(grad_output, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float],
                                 scales_w: Optional[float]):
    return linear_sample_backward(grad_output, input_size, align_corners, [scales_h, scales_w])


def upsample_trilinear3d_backward(grad_output, output_size: List[int], input_size: List[int], align_corners: bool, scales_d: Optional[float],
                                  scales_h: Optional[float], scales_w: Optional[float]):
    return linear_sample_backward(grad_output, input_size, align_corners, [scales_d, scales_h, scales_w])


def identity_image(g, size: int):
    """Its rows pass through an operator one by one, because the height does not change."""
    return torch.eye(size, dtype=opmath(g).dtype).view([1, 1, size, size])


def upsample_bicubic2d_backward(grad_output, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float],
                                scales_w: Optional[float]):
    scales, matrices = [scales_h, scales_w], [grad_output for _ in range(0)]
    for k in range(2):
        size = input_size[2 + k]
        matrices.append(torch.upsample_bicubic2d(identity_image(grad_output, size), [size, output_size[k]], align_corners, None, scales[k])[0, 0].t())
    return multiply_last_dims(grad_output, matrices)


def _upsample_bilinear2d_aa_backward(grad_output, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float],
                                     scales_w: Optional[float]):
    scales, matrices = [scales_h, scales_w], [grad_output for _ in range(0)]
    for k in range(2):
        size = input_size[2 + k]
        matrices.append(torch._upsample_bilinear2d_aa(identity_image(grad_output, size), [size, output_size[k]], align_corners, None, scales[k])[0, 0].t())
    return multiply_last_dims(grad_output, matrices)


def _upsample_bicubic2d_aa_backward(grad_output, output_size: List[int], input_size: List[int], align_corners: bool, scales_h: Optional[float],
                                    scales_w: Optional[float]):
    scales, matrices = [scales_h, scales_w], [grad_output for _ in range(0)]
    for k in range(2):
        size = input_size[2 + k]
        matrices.append(torch._upsample_bicubic2d_aa(identity_image(grad_output, size), [size, output_size[k]], align_corners, None, scales[k])[0, 0].t())
    return multiply_last_dims(grad_output, matrices)


# ---- Parts of a tensor


def slice_backward(grad_output, input_sizes: List[int], dim: int, start: int, end: int, step: int):
    return torch.slice_scatter(torch.zeros(input_sizes, dtype=grad_output.dtype), grad_output, dim, start, end, step)


def select_backward(grad_output, input_sizes: List[int], dim: int, index: int):
    return torch.select_scatter(torch.zeros(input_sizes, dtype=grad_output.dtype), grad_output, dim, index)


def diagonal_backward(grad_output, input_sizes: List[int], offset: int, dim1: int, dim2: int):
    return torch.diagonal_scatter(torch.zeros(input_sizes, dtype=grad_output.dtype), grad_output, offset, dim1, dim2)


def unfold_backward(grad_in, input_sizes: List[int], dim: int, size: int, step: int):
    if len(input_sizes) == 0:
        return torch.sum(grad_in)
    at = dim + len(input_sizes) if dim < 0 else dim
    index = (torch.arange(grad_in.size(at)) * step).unsqueeze(1) + torch.arange(size)
    windows = torch.movedim(grad_in, -1, at + 1).flatten(at, at + 1)
    return torch.index_add(torch.zeros(input_sizes, dtype=grad_in.dtype), at, index.flatten(), windows)


def masked_scatter_backward(grad_output, mask, sizes: List[int]):
    count = 1
    for n in sizes:
        count *= n
    chosen = torch.masked_select(grad_output, mask)
    return torch.cat([chosen, torch.zeros([count - chosen.numel()], dtype=chosen.dtype)]).view(sizes)


def embedding_dense_backward(grad_output, indices, num_weights: int, padding_idx: int, scale_grad_by_freq: bool):
    at, width = indices.flatten().to(torch.int64), grad_output.size(-1)
    g = torch.masked_fill(grad_output.reshape([at.numel(), width]), (at == padding_idx).unsqueeze(1), 0)
    if scale_grad_by_freq:
        counts = torch.index_add(torch.zeros([num_weights], dtype=g.dtype), 0, at, torch.ones_like(at, dtype=g.dtype))
        g = g / torch.index_select(counts, 0, at).unsqueeze(1)
    return torch.index_add(torch.zeros([num_weights, width], dtype=g.dtype), 0, at, g)


def bags_of(indices, offsets, offset2bag):
    """The forward operator leaves out offset2bag if it does not need it."""
    if offset2bag.numel() == indices.numel():
        return offset2bag.to(torch.int64)
    return torch.searchsorted(offsets.contiguous(), torch.arange(indices.numel(), dtype=offsets.dtype), right=True) - 1


def _embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights: int, scale_grad_by_freq: bool, mode: int,
                            sparse: bool, per_sample_weights: Optional[Tensor], padding_idx: int):
    assert not sparse, "_embedding_bag_backward of sparse gradients is not supported"
    if mode == 2:
        g = torch.masked_fill(grad, (bag_size == 0).unsqueeze(1), 0)
        rows = torch.clamp_min(maximum_indices, 0).to(torch.int64)
        return torch.scatter_add(torch.zeros([num_weights, grad.size(1)], dtype=grad.dtype), 0, rows, g)
    bag = bags_of(indices, offsets, offset2bag)
    g = torch.index_select(grad, 0, bag)
    if mode == 1:
        g = g / torch.index_select(bag_size, 0, bag).unsqueeze(1)
    if per_sample_weights is not None:
        g = g * per_sample_weights.unsqueeze(1)
    return embedding_dense_backward(g, indices, num_weights, padding_idx, scale_grad_by_freq)


def _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode: int, padding_idx: int):
    assert mode == 0, "embedding_bag_backward: per_sample_weights only supported for mode='sum'"
    out = torch.sum(torch.index_select(grad, 0, bags_of(indices, offsets, offset2bag)) * torch.embedding(weight, indices), [1])
    return torch.masked_fill(out, indices == padding_idx, 0)


# ---- Losses and distances


def loss_scale(x, reduction: int):
    return 1.0 / x.numel() if reduction == 1 else 1.0


def mse_loss_backward(grad_output, x, target, reduction: int):
    return (x - target) * grad_output * (2.0 * loss_scale(x, reduction))


def clipped_loss_backward(g, difference, limit: float, slope: float, scale: float):
    """The gradient is scale * slope beyond the limit, and the distance otherwise."""
    end = torch.full_like(difference, slope * scale)
    inside = difference * (scale * slope / limit) if limit > 0 else torch.zeros_like(difference)
    return torch.where(difference <= -limit, -end, torch.where(difference >= limit, end, inside)) * g


def smooth_l1_loss_backward(grad_output, x, target, reduction: int, beta: float):
    return clipped_loss_backward(grad_output, x - target, beta, 1.0, loss_scale(x, reduction))


def huber_loss_backward(grad_output, x, target, reduction: int, delta: float):
    return clipped_loss_backward(grad_output, x - target, delta, delta, loss_scale(x, reduction))


def soft_margin_loss_backward(grad_output, x, target, reduction: int):
    z = torch.exp(-target * x)
    return -target * z / (z + 1) * loss_scale(x, reduction) * grad_output


def binary_cross_entropy_backward(grad_output, x, target, weight: Optional[Tensor], reduction: int):
    g = grad_output * (x - target) / torch.clamp_min((1 - x) * x, 1e-12)
    if weight is not None:
        g = g * weight
    return g / x.numel() if reduction == 1 else g


def nll_loss_backward(grad_output, x, target, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight):
    dim = 0 if x.dim() == 1 else 1
    counts = torch.ne(target, ignore_index)
    chosen = torch.where(counts, target, torch.zeros_like(target))
    weights = torch.ones_like(chosen, dtype=x.dtype) if weight is None else torch.index_select(weight, 0, chosen.flatten()).view(chosen.size())
    g = grad_output / total_weight if reduction == 1 else grad_output
    picked = torch.where(counts, -weights * g, torch.zeros_like(weights))
    return torch.scatter(torch.zeros(x.size(), dtype=x.dtype), dim, chosen.unsqueeze(dim), picked.unsqueeze(dim))


def nll_loss2d_backward(grad_output, x, target, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight):
    return nll_loss_backward(grad_output, x, target, weight, reduction, ignore_index, total_weight)


def distance_backward(g, difference, distance, p: float):
    """Returns the gradient of the p-norm `distance` of `difference`, element by element."""
    if p == 0.0:
        return torch.zeros_like(difference)
    if p == 1.0:
        return torch.sign(difference) * g
    if p == float("inf"):
        return torch.sign(difference) * (torch.abs(difference) == distance) * g
    slope = torch.sign(difference) * torch.pow(torch.abs(difference), p - 1) * g / torch.pow(distance, p - 1)
    none = torch.logical_or(distance == 0, difference == 0) if p < 1 else distance == 0
    return torch.where(none, torch.zeros_like(slope), slope)


def _cdist_backward(grad, x1, x2, p: float, distances):
    if grad.numel() == 0:
        return torch.zeros_like(x1)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return torch.sum(distance_backward(grad.unsqueeze(-1), difference, distances.unsqueeze(-1), p), [-2])


def _pdist_backward(grad, x, p: float, distances):
    pairs = torch.triu_indices(x.size(0), x.size(0), 1)
    difference = torch.index_select(x, 0, pairs[0]) - torch.index_select(x, 0, pairs[1])
    slope = distance_backward(grad.unsqueeze(1), difference, distances.unsqueeze(1), p)
    return torch.index_add(torch.index_add(torch.zeros_like(x), 0, pairs[0], slope), 0, pairs[1], -slope)


# ---- grid_sample: modes 0 bilinear, 1 nearest, 2 bicubic; padding 0 zeros, 1 border, 2 reflection


def reflect_with_slope(at, low: float, high: float):
    """Returns (`at` reflected into low to high, the slope of this)."""
    if low == high:
        return torch.zeros_like(at), torch.zeros_like(at)
    beyond, span = at - low, high - low
    flips = torch.floor(torch.abs(beyond) / span)
    rest, even = torch.fmod(torch.abs(beyond), span), torch.fmod(flips, 2.0) == 0
    slope = torch.where(beyond < 0, -torch.ones_like(at), torch.ones_like(at))
    return torch.where(even, rest + low, span - rest + low), torch.where(even, slope, -slope)


def sample_positions(grid, size: int, padding_mode: int, align_corners: bool):
    """Returns (positions in a dimension for numbers from -1 to 1, the slope of this)."""
    half = (size - 1) / 2.0 if align_corners else size / 2.0
    at = (grid + 1) * half if align_corners else (grid + 1) * half - 0.5
    slope = torch.full_like(at, half)
    if padding_mode == 2:
        at, turned = reflect_with_slope(at, 0.0, size - 1.0) if align_corners else reflect_with_slope(at, -0.5, size - 0.5)
        slope = slope * turned
    if padding_mode != 0:
        slope = torch.where(torch.logical_and(at > 0, at < size - 1), slope, torch.zeros_like(slope))
        at = torch.clamp(at, 0, size - 1)
    return at, slope


def grid_sampler_backward(g, x, grid, mode: int, padding_mode: int, align_corners: bool, output_mask: List[bool]):
    if mode == 2:
        of_pixels, of_grid = grid_sampler_cubic_backward(opmath(g), opmath(x), opmath(grid), padding_mode, align_corners)
        return of_pixels.to(x.dtype), of_grid.to(grid.dtype)
    rank, count = x.dim() - 2, x.size(0)
    lines, flat = opmath(g).flatten(2), opmath(x).flatten(2)
    places: List[Tensor] = []
    slopes: List[Tensor] = []
    for d in range(rank):  # the last number of the grid is of the first dimension
        at, slope = sample_positions(opmath(grid)[..., rank - 1 - d].reshape([count, 1, -1]), x.size(2 + d), padding_mode, align_corners)
        places.append(torch.round(at) if mode == 1 else at)
        slopes.append(slope)
    bits = [1, 2, 4, 8]
    of_x = torch.zeros_like(flat)
    of_places = [torch.zeros_like(at) for at in places]
    for corner in range(1 if mode == 1 else bits[rank]):
        weights = [torch.ones_like(at) for at in places]
        index, inside = torch.zeros_like(places[0], dtype=torch.int64), torch.ones_like(places[0], dtype=torch.bool)
        for d in range(rank):
            upper = corner // bits[d] % 2
            at = torch.floor(places[d]) + upper
            weights[d] = 1 - torch.abs(places[d] - at)
            inside = torch.logical_and(inside, torch.logical_and(at >= 0, at < x.size(2 + d)))
            index = index * x.size(2 + d) + torch.clamp(at, 0, x.size(2 + d) - 1).to(torch.int64)
        index = index.expand_as(lines)
        share = inside.to(flat.dtype)
        for d in range(rank):
            share = share * weights[d]
        of_x = torch.scatter_add(of_x, 2, index, lines * share)
        if mode == 0:
            values = torch.sum(torch.gather(flat, 2, index) * lines, [1], True) * inside
            for d in range(rank):
                slope = values * (corner // bits[d] % 2 * 2 - 1)
                for e in range(rank):
                    slope = slope if e == d else slope * weights[e]
                of_places[d] = of_places[d] + slope
    turned = torch.stack([of_places[rank - 1 - d] * slopes[rank - 1 - d] for d in range(rank)], -1)
    return of_x.view(x.size()).to(x.dtype), turned.view(grid.size()).to(grid.dtype)


def grid_sampler_2d_backward(grad_output, x, grid, interpolation_mode: int, padding_mode: int, align_corners: bool, output_mask: List[bool]):
    return grid_sampler_backward(grad_output, x, grid, interpolation_mode, padding_mode, align_corners, output_mask)


def grid_sampler_3d_backward(grad_output, x, grid, interpolation_mode: int, padding_mode: int, align_corners: bool, output_mask: List[bool]):
    return grid_sampler_backward(grad_output, x, grid, interpolation_mode, padding_mode, align_corners, output_mask)


def cubic_weights(part):
    """Returns (weights of the four pixels around, their slopes), with A = -0.75."""
    far, near, rest = part + 1, part, 1 - part
    last = 2 - part
    weights = [((-0.75 * far + 3.75) * far - 6.0) * far + 3.0, (1.25 * near - 2.25) * near * near + 1, (1.25 * rest - 2.25) * rest * rest + 1,
               ((-0.75 * last + 3.75) * last - 6.0) * last + 3.0]
    slopes = [(-2.25 * far + 7.5) * far - 6.0, (3.75 * near - 4.5) * near, -(3.75 * rest - 4.5) * rest, -((-2.25 * last + 7.5) * last - 6.0)]
    return weights, slopes


def pad_position(at, size: int, padding_mode: int, align_corners: bool):
    if padding_mode == 2:
        at = reflect_with_slope(at, 0.0, size - 1.0)[0] if align_corners else reflect_with_slope(at, -0.5, size - 0.5)[0]
    return torch.clamp(at, 0, size - 1) if padding_mode != 0 else at


def grid_sampler_cubic_backward(g, x, grid, padding_mode: int, align_corners: bool):
    count, high, wide = x.size(0), x.size(2), x.size(3)
    lines, flat = g.flatten(2), x.flatten(2)
    x_at, x_slope = sample_positions(grid[..., 0].reshape([count, 1, -1]), wide, 0, align_corners)
    y_at, y_slope = sample_positions(grid[..., 1].reshape([count, 1, -1]), high, 0, align_corners)
    left, top = torch.floor(x_at), torch.floor(y_at)
    across, across_slopes = cubic_weights(x_at - left)
    down, down_slopes = cubic_weights(y_at - top)
    of_x, of_across, of_down = torch.zeros_like(flat), torch.zeros_like(x_at), torch.zeros_like(x_at)
    for tap in range(16):
        i, j = tap % 4, tap // 4
        column, row = pad_position(left - 1 + i, wide, padding_mode, align_corners), pad_position(top - 1 + j, high, padding_mode, align_corners)
        inside = torch.logical_and(torch.logical_and(column >= 0, column < wide), torch.logical_and(row >= 0, row < high))
        index = (torch.clamp(row, 0, high - 1) * wide + torch.clamp(column, 0, wide - 1)).to(torch.int64).expand_as(lines)
        of_x = torch.scatter_add(of_x, 2, index, lines * (across[i] * down[j] * inside))
        values = torch.sum(torch.gather(flat, 2, index) * lines, [1], True) * inside
        of_across = of_across + values * across_slopes[i] * down[j]
        of_down = of_down + values * across[i] * down_slopes[j]
    return of_x.view(x.size()), torch.stack([of_across * x_slope, of_down * y_slope], -1).view(grid.size())


# ---- Forward operators that autograd writes apart


def _cdist_forward(x1, x2, p: float, compute_mode: Optional[int]):
    return cdist(x1, x2, p, compute_mode)


def _pdist_forward(x, p: float):
    return pdist(x, p)


def _trilinear(x, y, z, expand1: List[int], expand2: List[int], expand3: List[int], sumdim: List[int], unroll_dim: int):
    for d in expand1:
        x = x.unsqueeze(d)
    for d in expand2:
        y = y.unsqueeze(d)
    for d in expand3:
        z = z.unsqueeze(d)
    return torch.sum(x * y * z, sumdim) if len(sumdim) > 0 else x * y * z
