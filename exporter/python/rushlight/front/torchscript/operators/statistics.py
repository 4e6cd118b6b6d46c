# Follows aten/src/ATen/native/Sorting.cpp, Itertools.cpp, Correlation.cpp, Histogram.cpp, ReduceOps.cpp, Normalization.cpp


def check_quantile(x, q, interpolation: str):
    assert x.numel() > 0, "quantile() input tensor must be non-empty"
    assert q.dim() <= 1, "quantile() q must be a scalar or 1D tensor"
    assert x.dtype == torch.float32 or x.dtype == torch.float64, "quantile() input tensor must be either float or double dtype"
    assert x.dtype == q.dtype, "quantile() q tensor must be same dtype as the input tensor"
    assert bool(torch.all(torch.logical_and(q >= 0, q <= 1))), "quantile() q values must be in the range [0, 1]"
    assert interpolation in ["linear", "lower", "higher", "midpoint", "nearest"], "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {}".format(interpolation)


def quantile_of(x, q, dim: Optional[int], keepdim: bool, interpolation: str, ignore_nan: bool):
    check_quantile(x, q, interpolation)
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


def cov(x, correction: int, fweights: Optional[Tensor], aweights: Optional[Tensor]):
    assert x.dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with {} dimensions".format(x.dim())
    assert x.dtype != torch.bool, "cov(): bool dtype is not supported for input"
    rows = x if x.dim() == 2 else x.reshape([1, -1])
    count = rows.size(1)
    weights: Optional[Tensor] = None
    if fweights is not None:
        assert fweights.dim() <= 1, "cov(): expected fweights to have one or fewer dimensions but got fweights with {} dimensions".format(fweights.dim())
        assert not torch.is_floating_point(fweights), "cov(): expected fweights to have integral dtype but got fweights with another dtype"
        assert fweights.numel() == count, "cov(): expected fweights to have the same number of elements as there are observations in the input but got {} != {}".format(fweights.numel(), count)
        assert count == 0 or bool(torch.all(fweights >= 0)), "cov(): fweights cannot be negative"
        weights = fweights
    if aweights is not None:
        assert aweights.dim() <= 1, "cov(): expected aweights to have one or fewer dimensions but got aweights with {} dimensions".format(aweights.dim())
        assert torch.is_floating_point(aweights), "cov(): expected aweights to have floating point dtype but got aweights with another dtype"
        assert aweights.numel() == count, "cov(): expected aweights to have the same number of elements as there are observations in the input but got {} != {}".format(aweights.numel(), count)
        assert count == 0 or bool(torch.all(aweights >= 0)), "cov(): aweights cannot be negative"
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        centered = rows - (torch.sum(rows, [1]) / count).unsqueeze(1)
        return (torch.mm(centered, centered.t().conj()) / max(count - correction, 0)).squeeze()
    total = torch.sum(weights)
    assert count == 0 or bool(total != 0), "cov(): weights sum to zero, can't be normalized"
    centered = rows - (torch.sum(rows * weights, [1]) / total).unsqueeze(1)
    if aweights is not None and correction != 0:
        norm = total - correction * torch.sum(weights * aweights) / total
    else:
        norm = total - correction
    return (torch.mm(centered, (centered * weights).t().conj()) / torch.clamp_min(norm, 0)).squeeze()


def corrcoef(x):
    assert x.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with {} dimensions".format(x.dim())
    c = cov(x, 1, None, None)
    if c.dim() == 0:
        return c / c
    deviations = torch.sqrt(torch.diag(c))
    out = c / deviations.view([-1, 1]) / deviations.view([1, -1])
    if torch.is_complex(out):
        return torch.complex(torch.clamp(torch.real(out), -1, 1), torch.clamp(torch.imag(out), -1, 1))
    return torch.clamp(out, -1, 1)


def edges_of(x, bins: int, given: Optional[List[float]], d: int):
    """Returns bins + 1 numbers from minimum to maximum, of x or as given for dimension d."""
    low, high = torch.zeros([], dtype=x.dtype), torch.ones([], dtype=x.dtype)
    if given is not None:
        low, high = torch.full([], given[2 * d], dtype=x.dtype), torch.full([], given[2 * d + 1], dtype=x.dtype)
    elif x.numel() > 0:
        low, high = torch.min(x), torch.max(x)
        assert bool(torch.isfinite(low)) and bool(torch.isfinite(high)), "torch.histogramdd(): dimension {}'s range [{}, {}] is not finite".format(d, float(low), float(high))
    assert bool(low <= high), "torch.histogramdd(): min should not exceed max, but got min {} max {} for dimension {}".format(float(low), float(high), d)
    if bool(low == high):
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low.item(), high.item(), bins + 1, dtype=x.dtype)


def histogram_counts(x, edges: List[Tensor], weight: Optional[Tensor], density: bool):
    """x: M x D."""
    sizes = [e.numel() - 1 for e in edges]
    inside = torch.ones([x.size(0)], dtype=torch.bool)
    at = torch.zeros([x.size(0)], dtype=torch.int64)
    count = 1
    for d in range(len(edges)):
        column = x[:, d].contiguous()
        e = edges[d].contiguous()
        assert sizes[d] >= 1, "torch.histogramdd(): bins tensor should have at least 1 element"
        inside = torch.logical_and(inside, torch.logical_and(column >= e[0], column <= e[-1]))
        place = torch.searchsorted(e, column, right=True) - 1
        at = at * sizes[d] + torch.clamp(place, 0, sizes[d] - 1)
        count *= sizes[d]
    units = torch.ones([x.size(0)], dtype=x.dtype) if weight is None else weight.reshape([-1])
    assert units.dtype == x.dtype, "torch.histogramdd(): if weight tensor is provided, input tensor and weight tensor should have the same dtype"
    out = torch.index_add(torch.zeros([count], dtype=x.dtype), 0, at, torch.where(inside, units, torch.zeros_like(units))).view(sizes)
    if density:
        out = out / torch.sum(out)
        for d in range(len(edges)):
            shape = [1 for _ in edges]
            shape[d] = sizes[d]
            out = out / diff(edges[d], 1, -1, None, None).view(shape)
    return out


def histogram__bin_ct(x, bins: int, given: Optional[List[float]], weight: Optional[Tensor], density: bool):
    assert bins > 0, "torch.histogram(): number of bins must be positive"
    edges = edges_of(x, bins, given, 0)
    return histogram_counts(x.reshape([-1, 1]), [edges], weight, density), edges


def histogram__bins_tensor(x, bins, weight: Optional[Tensor], density: bool):
    return histogram_counts(x.reshape([-1, 1]), [bins], weight, density), bins.clone()


def _histogramdd_bin_edges(x, bins: List[int], given: Optional[List[float]], weight: Optional[Tensor], density: bool):
    assert len(bins) == x.size(-1), "torch.histogramdd(): expected {} sequences of bin edges for a {}-dimensional histogram but got {}".format(x.size(-1), x.size(-1), len(bins))
    columns = x.reshape([-1, x.size(-1)])
    edges: List[Tensor] = []
    for d in range(len(bins)):
        edges.append(edges_of(columns[:, d], bins[d], given, d))
    return edges


def _histogramdd_from_bin_cts(x, bins: List[int], given: Optional[List[float]], weight: Optional[Tensor], density: bool):
    return histogram_counts(x.reshape([-1, x.size(-1)]), _histogramdd_bin_edges(x, bins, given, weight, density), weight, density)


def _histogramdd_from_bin_tensors(x, bins: List[Tensor], weight: Optional[Tensor], density: bool):
    return histogram_counts(x.reshape([-1, x.size(-1)]), bins, weight, density)


def histogramdd(x, bins: List[int], given: Optional[List[float]], weight: Optional[Tensor], density: bool):
    edges = _histogramdd_bin_edges(x, bins, given, weight, density)
    return histogram_counts(x.reshape([-1, x.size(-1)]), edges, weight, density), edges


def histogramdd__int_bins(x, bins: int, given: Optional[List[float]], weight: Optional[Tensor], density: bool):
    return histogramdd(x, [bins for _ in range(x.size(-1))], given, weight, density)


def histogramdd__TensorList_bins(x, bins: List[Tensor], given: Optional[List[float]], weight: Optional[Tensor], density: bool):
    return histogram_counts(x.reshape([-1, x.size(-1)]), bins, weight, density), bins


def vander(x, n: Optional[int], increasing: bool):
    assert x.dim() == 1, "x must be a one-dimensional tensor."
    count = x.size(0) if n is None else n
    assert count >= 0, "N must be non-negative."
    first = x if torch.is_floating_point(x) or torch.is_complex(x) else x.to(torch.int64)
    if count == 0:
        return torch.zeros([x.size(0), 0], dtype=first.dtype)
    ones = torch.ones([x.size(0), 1], dtype=first.dtype)
    out = torch.cat([ones, torch.cumprod(first.unsqueeze(1).expand([-1, count - 1]), 1)], 1)
    return out if increasing else torch.flip(out, [1])


def gradient_along(x, spacing, dim: int, edge_order: int):
    """spacing: a number as a 0-d tensor, or coordinates of the points along dim."""
    n = x.size(dim)
    if spacing.dim() == 0:
        middle = (torch.narrow(x, dim, 2, n - 2) - torch.narrow(x, dim, 0, n - 2)) / (2 * spacing)
        begin = (torch.select(x, dim, 1) - torch.select(x, dim, 0)) / spacing
        end = (torch.select(x, dim, n - 1) - torch.select(x, dim, n - 2)) / spacing
        if edge_order == 2:
            begin = (torch.select(x, dim, 0) * -1.5 + torch.select(x, dim, 1) * 2.0 - torch.select(x, dim, 2) * 0.5) / spacing
            end = (torch.select(x, dim, n - 1) * 1.5 - torch.select(x, dim, n - 2) * 2.0 + torch.select(x, dim, n - 3) * 0.5) / spacing
    else:
        assert spacing.numel() == n, "torch.gradient expected each spacing to have as many elements as the dimension that it is for, but got {} and {}".format(spacing.numel(), n)
        gaps = spacing[1:] - spacing[:-1]
        sizes = [1 for _ in range(x.dim())]
        sizes[dim] = n - 2
        before, after = gaps[:-1], gaps[1:]
        a = (-after / (before * (before + after))).view(sizes)
        b = ((after - before) / (before * after)).view(sizes)
        c = (before / (after * (before + after))).view(sizes)
        middle = a * torch.narrow(x, dim, 0, n - 2) + b * torch.narrow(x, dim, 1, n - 2) + c * torch.narrow(x, dim, 2, n - 2)
        begin = (torch.select(x, dim, 1) - torch.select(x, dim, 0)) / gaps[0]
        end = (torch.select(x, dim, n - 1) - torch.select(x, dim, n - 2)) / gaps[-1]
        if edge_order == 2:
            d, e = gaps[0], gaps[1]
            begin = torch.select(x, dim, 0) * (-(2.0 * d + e) / (d * (d + e))) + torch.select(x, dim, 1) * ((d + e) / (d * e)) - torch.select(x, dim, 2) * (d / (e * (d + e)))
            d, e = gaps[-2], gaps[-1]
            end = torch.select(x, dim, n - 3) * (e / (d * (d + e))) - torch.select(x, dim, n - 2) * ((d + e) / (d * e)) + torch.select(x, dim, n - 1) * ((d + 2.0 * e) / (e * (d + e)))
    return torch.cat([begin.unsqueeze(dim), middle, end.unsqueeze(dim)], dim)


def gradients(x, spacing: List[Tensor], dims: List[int], edge_order: int):
    assert edge_order == 1 or edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2."
    assert len(spacing) == len(dims), "torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() - 1', but got a list of length {}".format(len(spacing))
    out: List[Tensor] = []
    for k in range(len(dims)):
        dim = dims[k] + x.dim() if dims[k] < 0 else dims[k]
        assert x.size(dim) >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1"
        out.append(gradient_along(x, spacing[k], dim, edge_order))
    return out


def given_dim_or_all(x, dim: Optional[int]):
    return [d for d in range(x.dim())] if dim is None else [dim]


def spacing_tensor(x, spacing: float):
    return torch.full([], spacing, dtype=x.dtype if torch.is_floating_point(x) or torch.is_complex(x) else torch.float32)


def spacing_tensors(x, values: List[number]):
    out: List[Tensor] = []
    for v in values:
        out.append(spacing_tensor(x, float(v)))
    return out


def gradient__scalarint(x, spacing: Optional[number], dim: Optional[int], edge_order: int):
    dims = given_dim_or_all(x, dim)
    unit = spacing_tensor(x, 1.0 if spacing is None else float(spacing))
    return gradients(x, [unit for _ in dims], dims, edge_order)


def gradient__scalararray(x, spacing: number, dim: List[int], edge_order: int):
    unit = spacing_tensor(x, float(spacing))
    return gradients(x, [unit for _ in dim], dim, edge_order)


def gradient__array(x, dim: List[int], edge_order: int):
    return gradients(x, [spacing_tensor(x, 1.0) for _ in dim], dim, edge_order)


def gradient__scalarrayint(x, spacing: List[number], dim: Optional[int], edge_order: int):
    return gradients(x, spacing_tensors(x, spacing), given_dim_or_all(x, dim), edge_order)


def gradient__scalarrayarray(x, spacing: List[number], dim: List[int], edge_order: int):
    return gradients(x, spacing_tensors(x, spacing), dim, edge_order)


def gradient__tensorarrayint(x, spacing: List[Tensor], dim: Optional[int], edge_order: int):
    return gradients(x, spacing, given_dim_or_all(x, dim), edge_order)


def gradient__tensorarray(x, spacing: List[Tensor], dim: List[int], edge_order: int):
    return gradients(x, spacing, dim, edge_order)


def segments(x, lengths: Optional[Tensor], offsets: Optional[Tensor], axis: int):
    """(where each segment's elements are as [.., segment, element], the same for x.unsqueeze(axis))"""
    assert lengths is not None or offsets is not None, "segment_reduce(): Either lengths or offsets must be defined."
    if lengths is not None:
        ends = torch.cumsum(lengths, -1)
        begins = ends - lengths
    else:
        edges = offsets.unsqueeze(-1)[..., 0] if offsets is not None else torch.zeros([0], dtype=torch.int64)
        begins, ends = torch.narrow(edges, -1, 0, edges.size(-1) - 1), torch.narrow(edges, -1, 1, edges.size(-1) - 1)
    at = torch.arange(x.size(axis))
    inside = torch.logical_and(at >= begins.unsqueeze(-1), at < ends.unsqueeze(-1))
    return inside, inside.view(inside.size() + [1 for _ in range(x.dim() - axis - 1)])


def segment_reduce(x, reduce: str, lengths: Optional[Tensor], indices: Optional[Tensor], offsets: Optional[Tensor], axis: int, unsafe: bool, initial: Optional[number]):
    assert reduce == "max" or reduce == "mean" or reduce == "min" or reduce == "sum" or reduce == "prod", "Unsupported reduction"
    assert indices is None, "segment_reduce(): indices based reduction is not supported yet."
    count = x.size(axis)
    if lengths is not None and not unsafe:
        assert bool(torch.all(lengths >= 0)), "lengths contains negative value!"
        assert lengths.numel() == 0 or bool(torch.all(torch.sum(lengths, [-1]) == count)), "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
    inside, mask = segments(x, lengths, offsets, axis)
    rest = x.dim() - axis - 1
    data = x.unsqueeze(axis)
    start = 0.0
    if reduce == "max":
        start = -float("inf")
    elif reduce == "min":
        start = float("inf")
    elif reduce == "prod":
        start = 1.0
    neutral = torch.where(mask, data, torch.full_like(data, start))
    if initial is not None:
        start = float(initial)
    first = torch.full([], start, dtype=x.dtype)
    counts = torch.sum(inside, -1).view(inside.size()[:-1] + [1 for _ in range(rest)])
    if reduce == "max":
        return torch.maximum(torch.amax(neutral, [axis + 1]), first) if count > 0 else first.expand(inside.size()[:-1] + x.size()[axis + 1:]).contiguous()
    if reduce == "min":
        return torch.minimum(torch.amin(neutral, [axis + 1]), first) if count > 0 else first.expand(inside.size()[:-1] + x.size()[axis + 1:]).contiguous()
    if reduce == "prod":
        return torch.prod(neutral, axis + 1) * first
    total = torch.sum(neutral, [axis + 1]) + first
    if reduce == "mean":
        if initial is not None:
            return torch.where(counts > 0, total / torch.clamp_min(counts, 1), total)
        return total / counts
    return total


def _segment_reduce_backward(grad, output, data, reduce: str, lengths: Optional[Tensor], offsets: Optional[Tensor], axis: int, initial: Optional[number]):
    mask = segments(data, lengths, offsets, axis)[1]
    x, out, g = data.unsqueeze(axis), output.unsqueeze(axis + 1), grad.unsqueeze(axis + 1)
    if reduce == "mean":
        g = g / torch.clamp_min(torch.sum(mask, [axis + 1], True), 1)
    elif reduce == "max" or reduce == "min":
        mask = torch.logical_and(mask, torch.logical_or(x == out, torch.isnan(x)))
        g = torch.where(g > 0, g / torch.clamp_min(torch.sum(mask, [axis + 1], True), 1), g)  # PyTorch does not divide a negative number
    elif reduce == "prod":
        own = torch.eye(data.size(axis), dtype=torch.bool).view([data.size(axis), data.size(axis)] + [1 for _ in range(data.dim() - axis - 1)])
        each = torch.where(mask, x, torch.ones_like(x)).unsqueeze(axis + 1)
        others = torch.prod(torch.where(own, torch.ones_like(each), each), axis + 2)
        others = others if initial is None else others * float(initial)
        g = g * torch.where(torch.logical_or(x == 0, torch.isnan(x)), others, out / x)
    return torch.sum(torch.where(mask, g, torch.zeros_like(g)), [axis])


def linalg_vander(x, n: Optional[int]):
    assert x.dtype != torch.bool, "linalg.vander supports floating point, complex, and integer tensors, but got Bool"
    x = torch.atleast_1d(x)
    count = x.size(-1) if n is None else n
    assert count > 1, "N must be greater than 1."
    x = x if torch.is_floating_point(x) or torch.is_complex(x) else x.to(torch.int64)
    powers = torch.cumprod(x.unsqueeze(-1).expand(x.size() + [count - 1]), -1)
    return torch.cat([torch.ones_like(powers[..., :1]), powers], -1)


def _batch_norm_with_update(x, weight: Optional[Tensor], bias: Optional[Tensor], running_mean, running_var, momentum: float, eps: float):
    y, mean, invstd = torch.native_batch_norm(x, weight, bias, running_mean, running_var, True, momentum, eps)
    return y, mean, invstd, torch.zeros([0], dtype=torch.uint8)
