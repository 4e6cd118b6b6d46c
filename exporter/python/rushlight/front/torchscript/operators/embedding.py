# Follows aten/src/ATen/native/EmbeddingBag.cpp


def argmax_rows(out, rows, whose, indices):
    """Returns the first row of each bag that has the maximum of a column; 0 for an empty bag."""
    count = rows.size(0)
    at = torch.arange(count).unsqueeze(1)
    places = torch.where(rows == torch.index_select(out, 0, whose), at, torch.full_like(at, count))
    first = torch.index_reduce(torch.full(out.size(), count, dtype=torch.int64), 0, whose, places, "amin")
    return torch.cat([indices, torch.zeros([1], dtype=indices.dtype)])[first]


def embedding_bag__padding_idx(weight, indices, offsets, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor],
                               include_last_offset: bool, padding_idx: Optional[int]):
    assert indices.dim() == 1, "input has to be a 1D Tensor, but got Tensor of dimension {}".format(indices.dim())
    assert offsets.dim() == 1, "offsets has to be a 1D Tensor, but got Tensor of dimension {}".format(offsets.dim())
    assert per_sample_weights is None or mode == 0, "embedding_bag: per_sample_weights only supported with mode='sum'"
    bags = offsets.size(0) - 1 if include_last_offset else offsets.size(0)
    if offsets.size(0) > 0:
        assert int(offsets[0]) == 0, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {}".format(int(offsets[0]))
        assert int(offsets[-1]) <= indices.size(0), "offsets[-1] can not be greater than input's length({}) but got offsets[-1] of {}".format(indices.size(0), int(offsets[-1]))
    bag = torch.searchsorted(offsets[:bags].contiguous(), torch.arange(indices.size(0), dtype=offsets.dtype), right=True) - 1
    rows, whose, counts = torch.embedding(weight, indices), bag, torch.ones_like(bag, dtype=torch.bool)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding_idx is not None:
        counts = indices != (padding_idx + weight.size(0) if padding_idx < 0 else padding_idx)
        rows, whose = rows[counts], bag[counts]
    sizes = torch.index_add(torch.zeros([bags], dtype=indices.dtype), 0, whose, torch.ones_like(whose, dtype=indices.dtype))
    if mode == 2:
        out = torch.index_reduce(torch.zeros([bags, weight.size(1)], dtype=weight.dtype), 0, whose, rows, "amax", include_self=False)
        return out, bag, sizes, argmax_rows(out, rows, whose, indices if padding_idx is None else indices[counts])
    else:
        wide = rows.to(torch.float64 if rows.dtype == torch.float64 else torch.float32)  # halves are rounded once
        out = torch.index_add(torch.zeros([bags, weight.size(1)], dtype=wide.dtype), 0, whose, wide)
        if mode == 1:
            out = out / torch.clamp_min(sizes, 1).unsqueeze(1)
        out = out.to(weight.dtype)
    return out, bag, sizes, sizes.clone()


def embedding_bag(weight, indices, offsets, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor], include_last_offset: bool):
    return embedding_bag__padding_idx(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, None)


def _embedding_bag(weight, indices, offsets, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor],
                   include_last_offset: bool, padding_idx: int):
    return embedding_bag__padding_idx(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                                      padding_idx if padding_idx >= 0 else None)


def _embedding_bag_forward_only(weight, indices, offsets, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Optional[Tensor],
                                include_last_offset: bool, padding_idx: int):
    return _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)
