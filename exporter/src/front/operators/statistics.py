# As aten/src/ATen/native/Sorting.cpp, Itertools.cpp


def quantile_of(x, q, dim: Optional[int], keepdim: bool, interpolation: str, ignore_nan: bool):
    assert x.numel() > 0, "quantile() input tensor must be non-empty"
    assert q.dim() <= 1, "quantile() q must be a scalar or 1D tensor"
    assert x.dtype == torch.float32 or x.dtype == torch.float64, "quantile() input tensor must be either float or double dtype"
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
    below = ranks.to(torch.int64)
    values = torch.gather(lines, -1, below)
    if interpolation == "linear" or interpolation == "midpoint":
        above = torch.gather(lines, -1, torch.ceil(ranks).to(torch.int64))
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
    chosen = torch.ones_like(axes[0], dtype=torch.bool)
    for k in range(r - 1):
        in_order = axes[k] <= axes[k + 1] if with_replacement else axes[k] < axes[k + 1]
        chosen = torch.logical_and(chosen, in_order)
    return torch.stack([torch.index_select(x, 0, torch.masked_select(axis, chosen)) for axis in axes], 1)
