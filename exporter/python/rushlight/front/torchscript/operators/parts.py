# Follows aten/src/ATen/native/Fill.cpp, PackedSequence.cpp, Im2Col.cpp, Col2Im.cpp, AffineGridGenerator.cpp, MaxUnpooling.cpp,
# FractionalMaxPool2d.cpp, TensorShape.cpp, TensorAdvancedIndexing.cpp


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
    out = torch.stack(parts, 2).reshape([batched.size(0), batched.size(1) * kernel[0] * kernel[1], rows * columns]).contiguous()
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


def diagflat(x, offset: int):
    return torch.diag(x.contiguous().view([-1]), offset)


def atleast_1d__Sequence(tensors: List[Tensor]):
    return [torch.atleast_1d(t) for t in tensors]


def atleast_2d__Sequence(tensors: List[Tensor]):
    return [torch.atleast_2d(t) for t in tensors]


def atleast_3d__Sequence(tensors: List[Tensor]):
    return [torch.atleast_3d(t) for t in tensors]


def sum_to_size(x, size: List[int]):
    more = x.dim() - len(size)
    fits = more >= 0
    if fits:
        for d in range(len(size)):
            fits = fits and (size[d] == x.size(more + d) or size[d] == 1)
    assert fits, "size {{{}}} is not expandable to size {{{}}}.".format(size, x.size())
    dims = [d for d in range(more)]
    for d in range(len(size)):
        if size[d] == 1 and x.size(more + d) != 1:
            dims.append(more + d)
    if len(size) == 0:
        return torch.sum(x)
    if len(dims) == 0:
        return x
    return torch.sum(x, dims, True).view(size)


def nonzero_static(x, size: int, fill_value: int):
    assert size >= 0, "nonzero_static: 'size' must be an non-negative integer"
    found = torch.nonzero(x)[:size]
    return torch.cat([found, torch.full([size - found.size(0), x.dim()], fill_value, dtype=torch.int64)])


def as_strided_scatter(x, src, size: List[int], stride: List[int], offset: Optional[int]):
    # The copy has the strides of x, in a storage of the same extent.
    reach = 1 + x.storage_offset()
    for d in range(x.dim()):
        reach += max(x.size(d) - 1, 0) * x.stride(d)
    storage = x.as_strided([reach], [1], 0).clone()
    at = x.storage_offset() if offset is None else offset
    seen = storage.as_strided(size, stride, at)
    assert seen.size() == src.size(), "expected src to have a size equal to the slice of self. src size = {}, slice size = {}".format(src.size(), seen.size())
    seen.copy_(src)
    return storage.as_strided(x.size(), x.stride(), x.storage_offset())


def _chunk_cat(tensors: List[Tensor], dim: int, chunks: int):
    assert len(tensors) > 0, "_chunk_cat expects a non-empty input tensor list"
    assert chunks >= 1, "_chunk_cat expects positive num_chunks"
    parts: List[Tensor] = []
    for t in tensors:
        along = dim + t.dim() if dim < 0 else dim
        wide = (t.size(along) + chunks - 1) // chunks * chunks
        pads = [0 for _ in range(2 * (t.dim() - along) - 1)] + [wide - t.size(along)]
        padded = torch.constant_pad_nd(t, pads, 0) if wide > t.size(along) else t
        parts.append(padded.reshape(t.size()[:along] + [chunks, -1]))
    return torch.cat(parts, -1)


def clamped(x, indices: List[Optional[Tensor]]):
    out: List[Optional[Tensor]] = []
    for d in range(len(indices)):
        index = indices[d]
        if index is None:
            out.append(None)
        else:
            out.append(torch.clamp(index, -x.size(d), x.size(d) - 1))
    return out


def _unsafe_masked_index(x, mask, indices: List[Optional[Tensor]], fill: number):
    return torch.masked_fill(torch.index(x, clamped(x, indices)), torch.logical_not(mask), fill)


def _unsafe_masked_index_put_accumulate(x, mask, indices: List[Optional[Tensor]], values):
    return torch.index_put(x, clamped(x, indices), torch.masked_fill(values, torch.logical_not(mask), 0), True)


def _shape_as_tensor(x):
    return torch.tensor(x.size(), dtype=torch.int64)


def empty_permuted(size: List[int], layout: List[int], dtype: Optional[int], device_layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    assert len(size) == len(layout), "Number of dimensions in size does not match the length of the physical_layout"
    inside: List[int] = [0 for _ in size]
    for k in range(len(layout)):
        inside[layout[k]] = k
    return torch.permute(torch.empty([size[d] for d in layout], dtype=dtype), inside)


def _batch_norm_with_update(x, weight: Optional[Tensor], bias: Optional[Tensor], running_mean, running_var, momentum: float, eps: float):
    y, mean, invstd = torch.native_batch_norm(x, weight, bias, running_mean, running_var, True, momentum, eps)
    return y, mean, invstd, torch.zeros([0], dtype=torch.uint8)
