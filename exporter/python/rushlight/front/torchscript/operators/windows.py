# Follows aten/src/ATen/native/Im2Col.cpp, Col2Im.cpp, AffineGridGenerator.cpp, MaxUnpooling.cpp, FractionalMaxPool2d.cpp


def window_count(size: int, kernel: int, dilation: int, padding: int, stride: int):
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def im2col(x, kernel: List[int], dilation: List[int], padding: List[int], stride: List[int]):
    batched = x if x.dim() == 4 else x.unsqueeze(0)
    rows = window_count(x.size(-2), kernel[0], dilation[0], padding[0], stride[0])
    columns = window_count(x.size(-1), kernel[1], dilation[1], padding[1], stride[1])
    assert rows > 0 and columns > 0, "calculated shape of the array of sliding blocks is too small"
    padded = torch.constant_pad_nd(batched, [padding[1], padding[1], padding[0], padding[0]], 0)
    parts: List[Tensor] = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            parts.append(padded[:, :, top:top + (rows - 1) * stride[0] + 1:stride[0], left:left + (columns - 1) * stride[1] + 1:stride[1]])
    out = torch.stack(parts, 2).reshape([batched.size(0), batched.size(1) * kernel[0] * kernel[1], rows * columns]).contiguous()
    return out if x.dim() == 4 else out[0]


def col2im(x, output: List[int], kernel: List[int], dilation: List[int], padding: List[int], stride: List[int]):
    batched = x if x.dim() == 3 else x.unsqueeze(0)
    area = kernel[0] * kernel[1]
    channels = batched.size(1) // area
    rows = window_count(output[0], kernel[0], dilation[0], padding[0], stride[0])
    columns = window_count(output[1], kernel[1], dilation[1], padding[1], stride[1])
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


def grid_line(theta, n: int, align_corners: bool):
    if n <= 1:
        return torch.zeros([n], dtype=theta.dtype)
    line = torch.linspace(-1, 1, n, dtype=theta.dtype)
    return line if align_corners else line * (n - 1) / n


def affine_grid_generator(theta, size: List[int], align_corners: bool):
    assert len(size) == 4 or len(size) == 5, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs."
    lines: List[Tensor] = []
    for d in range(2, len(size)):
        lines.append(grid_line(theta, size[d], align_corners))
    axes = torch.meshgrid(lines, indexing="ij")
    base: List[Tensor] = []
    for k in range(len(axes)):
        base.append(axes[len(axes) - 1 - k])
    base.append(torch.ones_like(axes[0]))
    points = torch.stack(base, -1).view([1, -1, len(base)]).expand([size[0], -1, -1])
    return torch.bmm(points, theta.transpose(1, 2)).view([size[0]] + size[2:] + [len(axes)])


def unpooled(x, indices, output: List[int]):
    rank = len(output)
    assert indices.dtype == torch.int64, "elements in indices should be type int64 but got: " + str(indices.dtype)
    assert x.size() == indices.size(), "Expected shape of indices to be same as that of the input tensor ({}) but got indices tensor with shape: {}".format(x.size(), indices.size())
    places = 1
    for n in output:
        places *= n
    lines, at = x.flatten(-rank), indices.flatten(-rank)
    assert bool(torch.all(torch.logical_and(at >= 0, at < places))), "Found an invalid max index: out of the output's {} places".format(places)
    sizes = x.size()[:-rank]
    out = torch.zeros(sizes + [places], dtype=x.dtype)
    return torch.scatter(out, -1, at, lines).reshape(sizes + output)


def max_unpool2d(x, indices, output: List[int]):
    assert len(output) == 2, "There should be exactly two elements (height, width) in output_size, but got {} elements.".format(len(output))
    assert x.dim() == 3 or x.dim() == 4, "Input to max_unpooling2d should be a 3d or 4d Tensor, but got a tensor with {} dimensions.".format(x.dim())
    return unpooled(x, indices, output)


def max_unpool3d(x, indices, output: List[int], stride: List[int], padding: List[int]):
    assert len(output) == 3, "There should be exactly three elements (depth, height, width) in output_size, but got {} elements.".format(len(output))
    assert x.dim() == 4 or x.dim() == 5, "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with {} dimensions.".format(x.dim())
    return unpooled(x, indices, output)


def fractional_starts(samples, size: int, out: int, kernel: int):
    """Returns where windows begin: samples N x C, result N x C x out."""
    last = size - kernel
    assert last >= 0, "fractional_max_pool: pool size {} too large relative to input size {}".format(kernel, size)
    if out == 1:
        return torch.full([samples.size(0), samples.size(1), 1], last, dtype=torch.int64)
    alpha = torch.full([], last, dtype=samples.dtype) / (out - 1)
    u = samples.unsqueeze(-1)
    begin = torch.trunc((torch.arange(out - 1, dtype=samples.dtype) + u) * alpha) - torch.trunc(u * alpha)
    return torch.cat([begin.to(torch.int64), torch.full([samples.size(0), samples.size(1), 1], last, dtype=torch.int64)], -1)


def fractional_max_pool(x, kernel: List[int], output: List[int], samples):
    rank = len(kernel)
    batched = x if x.dim() == rank + 2 else x.unsqueeze(0)
    assert samples.size(-1) == rank, "Expect _random_samples.size(2) equals to {}; got {}.".format(rank, samples.size(-1))
    many, channels = batched.size(0), batched.size(1)
    assert samples.size(0) >= many, "Expect _random_samples.size(0) no less then input batch size."
    assert samples.size(1) == channels, "Expect _random_samples.size(1) equals to input channel size."
    samples = samples[:many]
    at = torch.zeros([many, channels] + [1 for _ in range(2 * rank)], dtype=torch.int64)
    for d in range(rank):
        size = batched.size(2 + d)
        # The samples begin with the width.
        begin = fractional_starts(samples[:, :, rank - 1 - d], size, output[d], kernel[d])
        lines = begin.unsqueeze(-1) + torch.arange(kernel[d])
        shape = [many, channels] + [1 for _ in range(2 * rank)]
        shape[2 + d], shape[2 + rank + d] = output[d], kernel[d]
        at = at * size + lines.view(shape)
    at = at.flatten(2 + rank)
    values = torch.gather(batched.flatten(2), 2, at.flatten(2)).view(at.size())
    best, which = torch.max(values, -1)
    places = torch.gather(at, -1, which.unsqueeze(-1)).squeeze(-1)
    if x.dim() == rank + 2:
        return best, places
    return best.squeeze(0), places.squeeze(0)


def fractional_max_pool2d(x, kernel: List[int], output: List[int], samples):
    return fractional_max_pool(x, kernel, output, samples)


def fractional_max_pool3d(x, kernel: List[int], output: List[int], samples):
    # Here, the samples begin with the depth.
    return fractional_max_pool(x, kernel, output, torch.flip(samples, [-1]))
