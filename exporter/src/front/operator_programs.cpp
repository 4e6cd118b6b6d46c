// Operators that are programs of others. Names and arguments are those of aten's operators;
// NAME__OVERLOAD is for that overload alone.
#include "front/torchscript_parts.h"

namespace rush {

namespace {

// aten/src/ATen/native/transformers/attention.cpp, transformer.cpp
const char kAttention[] = R"TS(
def _native_multi_head_attention(query, key, value, embed_dim: int, num_head: int, qkv_weight, qkv_bias,
                                 proj_weight, proj_bias, mask: Optional[Tensor] = None, need_weights: bool = True,
                                 average_attn_weights: bool = True,
                                 mask_type: Optional[int] = None) -> Tuple[Tensor, Optional[Tensor]]:
    assert query.dim() == 3 and query.size() == key.size() and key.size() == value.size(), "expected `query`/`key`/`value` shapes to match"
    batch, length, width = query.size(0), query.size(1), embed_dim // num_head
    heads = [batch, length, num_head, width]
    d, e = embed_dim, 2 * embed_dim
    q = torch.linear(query, qkv_weight[:d], qkv_bias[:d]) / (float(width) ** 0.5)
    k = torch.linear(key, qkv_weight[d:e], qkv_bias[d:e])
    v = torch.linear(value, qkv_weight[e:], qkv_bias[e:])
    scores = torch.matmul(q.view(heads).transpose(1, 2), k.view(heads).permute([0, 2, 3, 1]))
    if mask is not None:
        hidden = torch.ne(mask, 0)
        if mask_type is not None and mask_type == 1:
            hidden = hidden.view([batch, 1, 1, length])
        scores = torch.masked_fill(scores, hidden, -float("inf"))
    weights = torch.softmax(scores, -1)
    mixed = torch.matmul(weights, v.view(heads).transpose(1, 2)).transpose(1, 2).reshape([batch, length, embed_dim])
    result = torch.linear(mixed, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    if average_attn_weights:
        weights = torch.sum(weights, 1) / num_head
    return result, weights

def _transformer_encoder_layer_fwd(src, embed_dim: int, num_heads: int, qkv_weight, qkv_bias, proj_weight, proj_bias,
                                   use_gelu: bool, norm_first: bool, eps: float, norm_weight_1, norm_bias_1,
                                   norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
                                   mask: Optional[Tensor] = None, mask_type: Optional[int] = None) -> Tensor:
    x = src
    if norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
    x = _native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
                                     mask, False, True, mask_type)[0] + src
    if not norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
    between = x
    if norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
    x = torch.linear(x, ffn_weight_1, ffn_bias_1)
    x = torch.gelu(x) if use_gelu else torch.relu(x)
    x = torch.linear(x, ffn_weight_2, ffn_bias_2) + between
    if not norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
    return x
)TS";

// aten/src/ATen/native/Loss.cpp, LossNLL.cpp
const char kLosses[] = R"TS(
def reduced(loss, reduction: int):
    if reduction == 1:
        return torch.mean(loss)
    if reduction == 2:
        return torch.sum(loss)
    return loss

def mse_loss(x, target, reduction: int):
    return reduced(torch.square(x - target), reduction)

def l1_loss(x, target, reduction: int):
    return reduced(torch.abs(x - target), reduction)

def smooth_l1_loss(x, target, reduction: int, beta: float):
    assert beta >= 0, "smooth_l1_loss does not support negative values for beta."
    z = torch.abs(x - target)
    if beta > 0:
        z = torch.where(z < beta, z * z * 0.5 / beta, z - 0.5 * beta)
    return reduced(z, reduction)

def huber_loss(x, target, reduction: int, delta: float):
    assert delta > 0, "huber_loss does not support non-positive values for delta."
    z = torch.abs(x - target)
    return reduced(torch.where(z < delta, z * z * 0.5, (z - 0.5 * delta) * delta), reduction)

def kl_div(x, target, reduction: int, log_target: bool):
    if log_target:
        return reduced(torch.exp(target) * (target - x), reduction)
    return reduced(torch.xlogy(target, target) - target * x, reduction)

def binary_cross_entropy(x, target, weight: Optional[Tensor], reduction: int):
    assert bool(torch.all((x >= 0) & (x <= 1))), "all elements of input should be between 0 and 1"
    loss = (target - 1) * torch.clamp_min(torch.log1p(-x), -100) - target * torch.clamp_min(torch.log(x), -100)
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)

def binary_cross_entropy_with_logits(x, target, weight: Optional[Tensor], pos_weight: Optional[Tensor], reduction: int):
    log_sigmoid = torch.log_sigmoid(x)
    if pos_weight is not None:
        log_sigmoid = log_sigmoid * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * x - log_sigmoid
    if weight is not None:
        loss = loss * weight
    return reduced(loss, reduction)

def nll_loss_nd(x, target, weight: Optional[Tensor], reduction: int, ignore_index: int):
    dim = 0 if x.dim() == 1 else 1
    counts = torch.ne(target, ignore_index)
    chosen = torch.where(counts, target, torch.zeros_like(target))
    weights = torch.ones_like(chosen, dtype=x.dtype) if weight is None else torch.index_select(weight, 0, chosen.flatten()).view(chosen.size())
    weights = torch.where(counts, weights, torch.zeros_like(weights))
    picked = torch.gather(x, dim, chosen.unsqueeze(dim)).squeeze(dim)
    loss = torch.where(counts, -picked * weights, torch.zeros_like(weights))
    if reduction == 1:
        return torch.sum(loss) / torch.sum(weights)
    return reduced(loss, reduction)

def cross_entropy_loss(x, target, weight: Optional[Tensor], reduction: int, ignore_index: int, label_smoothing: float):
    dim = 0 if x.dim() == 1 else 1
    logs = torch.log_softmax(x, dim)
    sizes = [1 for _ in range(x.dim())]
    sizes[dim] = x.size(dim)
    if x.size() == target.size():
        assert torch.is_floating_point(target), "Expected floating point type for target with class probabilities"
        if label_smoothing > 0:
            target = target * (1 - label_smoothing) + label_smoothing / x.size(dim)
        loss = logs * target
        if weight is not None:
            loss = loss * weight.view(sizes)
        if reduction == 1:
            return -torch.sum(loss) / (float(x.numel()) / x.size(dim) if x.numel() > 0 else float("nan"))
        if reduction == 2:
            return -torch.sum(loss)
        return -torch.sum(loss, dim)
    nll = nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if label_smoothing <= 0:
        return nll
    smooth = -torch.sum(logs if weight is None else logs * weight.view(sizes), dim)
    counts = torch.ne(target, ignore_index)
    smooth = torch.where(counts, smooth, torch.zeros_like(smooth))
    if reduction == 1:
        if weight is None:
            smooth = torch.sum(smooth) / torch.sum(counts)
        else:
            chosen = torch.index_select(weight, 0, torch.masked_select(target, counts))
            smooth = torch.sum(smooth) / torch.sum(chosen)
    else:
        smooth = reduced(smooth, reduction)
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / x.size(dim))
)TS";

// aten/src/ATen/native/Distance.cpp, Linear.cpp, Cross.cpp, ReduceOps.cpp
const char kProducts[] = R"TS(
def dist(x, other, p: number):
    return torch.norm(x - other, p)

def pairwise_distance(x, other, p: float, eps: float, keepdim: bool):
    return torch.linalg_vector_norm(x - other + eps, p, [-1], keepdim)

def cdist(x, other, p: float, mode: Optional[int]):
    assert p >= 0, "cdist only supports non-negative p values"
    assert x.size(-1) == other.size(-1), "X1 and X2 must have the same number of columns."
    product = mode is not None and mode == 1
    if mode is None or mode == 0:
        product = x.size(-2) > 25 or other.size(-2) > 25
    if p == 2 and product:
        ours, theirs = torch.sum(x * x, -1, True), torch.sum(other * other, -1, True)
        a = torch.cat([x * -2, ours, torch.ones_like(ours)], -1)
        b = torch.cat([other, torch.ones_like(theirs), theirs], -1)
        return torch.sqrt(torch.clamp_min(torch.matmul(a, b.transpose(-2, -1)), 0))
    return torch.linalg_vector_norm(x.unsqueeze(-2) - other.unsqueeze(-3), p, [-1])

def linalg_cross(x, other, dim: int):
    assert x.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions."
    assert x.size(dim) == 3 and other.size(dim) == 3, "linalg.cross: inputs dimension must have length 3"
    a, b, c = torch.unbind(x, dim)
    d, e, f = torch.unbind(other, dim)
    return torch.stack([b * f - c * e, c * d - a * f, a * e - b * d], dim if dim >= 0 else dim + x.dim())

def cross(x, other, dim: Optional[int]):
    if dim is not None:
        return linalg_cross(x, other, dim)
    found = -1
    for d in range(x.dim()):
        if x.size(d) == 3 and found < 0:
            found = d
    assert found >= 0, "no dimension of size 3 in input"
    return linalg_cross(x, other, found)

def tensordot(x, other, dims_self: List[int], dims_other: List[int]):
    assert len(dims_self) == len(dims_other), "both dimension lists should have same length"
    ours = [(d + x.dim()) % x.dim() for d in dims_self]
    theirs = [(d + other.dim()) % other.dim() for d in dims_other]
    width = 1
    for k in range(len(ours)):
        a, b = x.size(ours[k]), other.size(theirs[k])
        if b == 1:
            x = torch.sum(x, ours[k], True)
        elif a == 1:
            other = torch.sum(other, theirs[k], True)
        else:
            assert a == b, "contracted dimensions need to match, but first has size {} and second has size {}".format(a, b)
        width *= x.size(ours[k])
    sizes: List[int] = []
    left: List[int] = []
    right: List[int] = []
    rows, columns = 1, 1
    for d in range(x.dim()):
        if d not in ours:
            left.append(d)
            sizes.append(x.size(d))
            rows *= x.size(d)
    for d in range(other.dim()):
        if d not in theirs:
            right.append(d)
            sizes.append(other.size(d))
            columns *= other.size(d)
    a = torch.permute(x, left + ours).reshape([rows, width])
    b = torch.permute(other, theirs + right).reshape([width, columns])
    return torch.mm(a, b).reshape(sizes)

def inner(x, other):
    if x.dim() == 0 or other.dim() == 0:
        return x * other
    assert x.size(-1) == other.size(-1), "inner() the last dimension must match on both input tensors"
    return tensordot(x, other, [-1], [-1])

def kron(x, other):
    rank = max(x.dim(), other.dim())
    ours: List[int] = []
    theirs: List[int] = []
    sizes: List[int] = []
    for d in range(rank):
        a = x.size(d - rank) if d >= rank - x.dim() else 1
        b = other.size(d - rank) if d >= rank - other.dim() else 1
        ours += [a, 1]
        theirs += [1, b]
        sizes.append(a * b)
    return (x.reshape(ours) * other.reshape(theirs)).reshape(sizes)

def bilinear(x, other, weight, bias: Optional[Tensor]):
    assert x.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size"
    assert other.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size"
    y = torch.einsum("...i,oij,...j->...o", [x, weight, other])
    return y if bias is None else y + bias

def diff(x, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]):
    assert x.dim() > 0, "diff expects input to be at least one-dimensional"
    assert n >= 0, "order must be non-negative but got {}".format(n)
    if prepend is not None:
        x = torch.cat([prepend, x], dim)
    if append is not None:
        x = torch.cat([x, append], dim)
    for _ in range(min(n, x.size(dim))):
        many = x.size(dim)
        after, before = torch.narrow(x, dim, 1, many - 1), torch.narrow(x, dim, 0, many - 1)
        x = torch.logical_xor(after, before) if x.dtype == 11 else after - before
    return x

def cartesian_prod(tensors: List[Tensor]):
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([t.flatten() for t in torch.meshgrid(tensors, indexing="ij")], 1)
)TS";

// aten/src/ATen/native/Fill.cpp, PackedSequence.cpp, Im2Col.cpp, Col2Im.cpp,
// AffineGridGenerator.cpp
const char kParts[] = R"TS(
def fill_diagonal_(x, value: number, wrap: bool):
    assert x.dim() >= 2, "dimensions must larger than 1"
    rows, columns, step = x.size(0), x.size(1), 0
    for d in range(x.dim()):
        assert x.dim() == 2 or x.size(d) == rows, "all dimensions of input must be of equal length"
        step += x.stride(d)
    size = min(rows, columns)
    x.as_strided([size], [step], x.storage_offset()).fill_(value)
    if wrap and x.dim() == 2 and rows > columns + 1:
        more = (x.numel() + columns) // (columns + 1) - size
        x.as_strided([more], [step], x.storage_offset() + x.stride(0) * (columns + 1)).fill_(value)
    return x

def pad_sequence(sequences: List[Tensor], batch_first: bool, padding_value: float, padding_side: str):
    assert len(sequences) > 0, "received an empty list of sequences"
    assert padding_side == "left" or padding_side == "right", "Expected padding_side to be one of left or right"
    first = sequences[0]
    longest = 0
    for s in sequences:
        longest = max(longest, s.size(0))
    sizes = [len(sequences), longest] + first.size()[1:]
    out = torch.full(sizes, padding_value, dtype=first.dtype)
    for i, s in enumerate(sequences):
        begin = longest - s.size(0) if padding_side == "left" else 0
        torch.narrow(out[i], 0, begin, s.size(0)).copy_(s)
    return out if batch_first else out.transpose(0, 1).contiguous()

def places(size: int, kernel: int, dilation: int, padding: int, stride: int):
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1

def im2col(x, kernel: List[int], dilation: List[int], padding: List[int], stride: List[int]):
    batched = x if x.dim() == 4 else x.unsqueeze(0)
    rows = places(x.size(-2), kernel[0], dilation[0], padding[0], stride[0])
    columns = places(x.size(-1), kernel[1], dilation[1], padding[1], stride[1])
    assert rows > 0 and columns > 0, "calculated shape of the array of sliding blocks is too small"
    padded = torch.constant_pad_nd(batched, [padding[1], padding[1], padding[0], padding[0]], 0)
    parts: List[Tensor] = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            parts.append(padded[:, :, top:top + (rows - 1) * stride[0] + 1:stride[0], left:left + (columns - 1) * stride[1] + 1:stride[1]])
    out = torch.stack(parts, 2).reshape([batched.size(0), batched.size(1) * kernel[0] * kernel[1], rows * columns])
    return out if x.dim() == 4 else out[0]

def col2im(x, output: List[int], kernel: List[int], dilation: List[int], padding: List[int], stride: List[int]):
    batched = x if x.dim() == 3 else x.unsqueeze(0)
    area = kernel[0] * kernel[1]
    channels = batched.size(1) // area
    rows = places(output[0], kernel[0], dilation[0], padding[0], stride[0])
    columns = places(output[1], kernel[1], dilation[1], padding[1], stride[1])
    assert batched.size(1) % area == 0, "Expected size of input's dimension 1 to be divisible by the product of kernel_size"
    assert batched.size(2) == rows * columns, "Expected size of input's dimension 2 to match the calculated number of sliding blocks {} * {} = {}".format(rows, columns, rows * columns)
    blocks = batched.reshape([batched.size(0), channels, area, rows, columns])
    padded = torch.zeros([batched.size(0), channels, output[0] + 2 * padding[0], output[1] + 2 * padding[1]], dtype=x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            padded[:, :, top:top + (rows - 1) * stride[0] + 1:stride[0], left:left + (columns - 1) * stride[1] + 1:stride[1]] += blocks[:, :, i * kernel[1] + j]
    out = padded[:, :, padding[0]:padding[0] + output[0], padding[1]:padding[1] + output[1]].contiguous()
    return out if x.dim() == 3 else out[0]

def steps(theta, n: int, align_corners: bool):
    if n <= 1:
        return torch.zeros([n], dtype=theta.dtype)
    line = torch.linspace(-1, 1, n, dtype=theta.dtype)
    return line if align_corners else line * (n - 1) / n

def affine_grid_generator(theta, size: List[int], align_corners: bool):
    assert len(size) == 4 or len(size) == 5, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs."
    lines: List[Tensor] = []
    for d in range(2, len(size)):
        lines.append(steps(theta, size[d], align_corners))
    axes = torch.meshgrid(lines, indexing="ij")
    base: List[Tensor] = []
    for k in range(len(axes)):
        base.append(axes[len(axes) - 1 - k])
    base.append(torch.ones_like(axes[0]))
    points = torch.stack(base, -1).view([1, -1, len(base)]).expand([size[0], -1, -1])
    return torch.bmm(points, theta.transpose(1, 2)).view([size[0]] + size[2:] + [len(axes)])
)TS";

// aten/src/ATen/native/TensorFactories.cpp, BinaryOps.cpp, ReduceOps.cpp, Histogram.cpp
const char kSeries[] = R"TS(
def cosine_window(name: str, n: int, periodic: bool, a: float, b: float, c: float, dtype: Optional[int]):
    one = torch.ones([n], dtype=dtype)
    assert torch.is_floating_point(one), name + " expects floating point dtypes"
    if n <= 1:
        return one
    x = torch.arange(n, dtype=one.dtype) * (3.141592653589793 / (n if periodic else n - 1))
    w = torch.cos(x * 2) * -b + a
    return w if c == 0 else w + torch.cos(x * 4) * c

def hann_window(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("hann_window", n, True, 0.5, 0.5, 0.0, dtype)

def hann_window__periodic(n: int, periodic: bool, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("hann_window", n, periodic, 0.5, 0.5, 0.0, dtype)

def hamming_window(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("hamming_window", n, True, 0.54, 0.46, 0.0, dtype)

def hamming_window__periodic(n: int, periodic: bool, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("hamming_window", n, periodic, 0.54, 0.46, 0.0, dtype)

def hamming_window__periodic_alpha(n: int, periodic: bool, alpha: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("hamming_window", n, periodic, alpha, 0.46, 0.0, dtype)

def hamming_window__periodic_alpha_beta(n: int, periodic: bool, alpha: float, beta: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("hamming_window", n, periodic, alpha, beta, 0.0, dtype)

def blackman_window(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("blackman_window", n, True, 0.42, 0.5, 0.08, dtype)

def blackman_window__periodic(n: int, periodic: bool, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return cosine_window("blackman_window", n, periodic, 0.42, 0.5, 0.08, dtype)

def only_number(name: str, what: str, x):
    assert x.dim() == 0, "{} only supports 0-dimensional start and end tensors, but got {} with {} dimension(s).".format(name, what, x.dim())
    return x.item()

def linspace__Tensor_Tensor(start, end, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.linspace(only_number("linspace", "start", start), only_number("linspace", "end", end), steps, dtype=dtype)

def linspace__Tensor_Scalar(start, end: number, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.linspace(only_number("linspace", "start", start), end, steps, dtype=dtype)

def linspace__Scalar_Tensor(start: number, end, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.linspace(start, only_number("linspace", "end", end), steps, dtype=dtype)

def powers_of(base: float, exponents):
    assert torch.is_floating_point(exponents), "logspace of integers is not supported: make it of a floating point dtype and convert"
    return torch.pow(base, exponents)

def logspace(start: number, end: number, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, torch.linspace(start, end, steps, dtype=dtype))

def logspace__Tensor_Tensor(start, end, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, torch.linspace(only_number("logspace", "start", start), only_number("logspace", "end", end), steps, dtype=dtype))

def logspace__Tensor_Scalar(start, end: number, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, torch.linspace(only_number("logspace", "start", start), end, steps, dtype=dtype))

def logspace__Scalar_Tensor(start: number, end, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, torch.linspace(start, only_number("logspace", "end", end), steps, dtype=dtype))

def heaviside(x, values):
    assert x.dtype == values.dtype, "heaviside is not yet implemented for tensors with different dtypes."
    return torch.where(x == 0, values, (x > 0).to(x.dtype))

def ldexp__Tensor(x, other):
    return x * torch.pow(2.0, other)

def nanmean(x, dim: Optional[List[int]], keepdim: bool, dtype: Optional[int]):
    assert torch.is_floating_point(x), "nanmean(): expected input to have floating point or complex dtype"
    n = torch.sum(torch.logical_not(torch.isnan(x)), dim, keepdim)
    return torch.nansum(x, dim, keepdim, dtype=dtype) / n

def histc(x, bins: int, min: number, max: number):
    assert torch.is_floating_point(x), "histc is not implemented for integers"
    assert bins > 0, "torch.histc(): bins must be > 0"
    low, high = torch.full([], min, dtype=x.dtype), torch.full([], max, dtype=x.dtype)
    if bool(low == high) and x.numel() > 0:
        low, high = torch.min(x), torch.max(x)
    if bool(low == high):
        low, high = low - 1, high + 1
    assert bool(torch.isfinite(low)) and bool(torch.isfinite(high)), "torch.histc: range of [{}, {}] is not finite".format(low, high)
    assert bool(low < high), "torch.histc: max must be larger than min"
    x = x.reshape([-1])
    x = x[torch.logical_and(x >= low, x <= high)]
    at = ((x - low) * bins / (high - low)).to(torch.arange(1).dtype)
    return torch.bincount(torch.clamp(at, None, bins - 1), minlength=bins).to(x.dtype)
)TS";

// aten/src/ATen/native/Sorting.cpp, Itertools.cpp
const char kStatistics[] = R"TS(
def quantile_of(x, q, dim: Optional[int], keepdim: bool, interpolation: str, ignore_nan: bool):
    assert x.numel() > 0, "quantile() input tensor must be non-empty"
    assert q.dim() <= 1, "quantile() q must be a scalar or 1D tensor"
    assert x.dtype == 6 or x.dtype == 7, "quantile() input tensor must be either float or double dtype"
    assert x.dtype == q.dtype, "quantile() q tensor must be same dtype as the input tensor"
    assert bool(torch.all(torch.logical_and(q >= 0, q <= 1))), "quantile() q values must be in the range [0, 1]"
    assert interpolation in ["linear", "lower", "higher", "midpoint", "nearest"], "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {}".format(interpolation)
    sizes: List[int] = []
    if q.dim() > 0:
        sizes.append(q.numel())
    lines = x.flatten()
    if dim is not None and x.dim() > 0:
        assert dim >= -x.dim() and dim < x.dim(), "Dimension out of range (expected to be in range of [{}, {}], but got {})".format(-x.dim(), x.dim() - 1, dim)
        along = dim + x.dim() if dim < 0 else dim
        lines = x.unsqueeze(-1).transpose(along, -1)
        for d in range(x.dim()):
            if d != along:
                sizes.append(x.size(d))
            elif keepdim:
                sizes.append(1)
    elif keepdim:
        sizes += [1 for _ in range(x.dim())]
    lines = torch.sort(lines, -1)[0]
    missing = torch.isnan(lines)
    last = lines.size(-1) - 1
    if ignore_nan:
        ranks = torch.clamp_min(q.reshape([-1]) * (torch.sum(torch.logical_not(missing), -1, True) - 1), 0)
    else:
        ranks = torch.masked_fill(q.reshape([-1]) * last, torch.any(missing, -1, True), last)
    if interpolation == "lower":
        ranks = torch.floor(ranks)
    elif interpolation == "higher":
        ranks = torch.ceil(ranks)
    elif interpolation == "nearest":
        ranks = torch.round(ranks)
    below = ranks.to(4)
    values = torch.gather(lines, -1, below)
    if interpolation == "linear" or interpolation == "midpoint":
        above = torch.gather(lines, -1, torch.ceil(ranks).to(4))
        weights = torch.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
        values = torch.lerp(values, above, weights)
    return torch.movedim(values, -1, 0).reshape(sizes)

def quantile(x, q, dim: Optional[int], keepdim: bool, interpolation: str):
    return quantile_of(x, q, dim, keepdim, interpolation, False)

def quantile__scalar(x, q: float, dim: Optional[int], keepdim: bool, interpolation: str):
    return quantile_of(x, torch.full([], q, dtype=x.dtype), dim, keepdim, interpolation, False)

def nanquantile(x, q, dim: Optional[int], keepdim: bool, interpolation: str):
    return quantile_of(x, q, dim, keepdim, interpolation, True)

def nanquantile__scalar(x, q: float, dim: Optional[int], keepdim: bool, interpolation: str):
    return quantile_of(x, torch.full([], q, dtype=x.dtype), dim, keepdim, interpolation, True)

def combinations(x, r: int, with_replacement: bool):
    assert x.dim() == 1, "Expect a 1D vector, but got shape {}".format(x.size())
    assert r >= 0, "Expect a non-negative number, but got {}".format(r)
    if r == 0:
        return torch.zeros([0], dtype=x.dtype)
    axes = torch.meshgrid([torch.arange(x.numel()) for _ in range(r)], indexing="ij")
    chosen = torch.ones_like(axes[0], dtype=11)
    for k in range(r - 1):
        in_order = axes[k] <= axes[k + 1] if with_replacement else axes[k] < axes[k + 1]
        chosen = torch.logical_and(chosen, in_order)
    return torch.stack([torch.index_select(x, 0, torch.masked_select(axis, chosen)) for axis in axes], 1)
)TS";

}  // namespace

std::vector<const char *> operator_programs() {
  return {kAttention, kLosses, kProducts, kParts, kSeries, kStatistics};
}

}  // namespace rush
