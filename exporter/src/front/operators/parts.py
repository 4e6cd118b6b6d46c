# As aten/src/ATen/native/Fill.cpp, PackedSequence.cpp, Im2Col.cpp, Col2Im.cpp, AffineGridGenerator.cpp


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
