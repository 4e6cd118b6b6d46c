# Follows aten/src/ATen/native/Fill.cpp, PackedSequence.cpp, TensorShape.cpp, TensorAdvancedIndexing.cpp


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
