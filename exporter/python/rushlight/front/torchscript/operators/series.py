# Follows aten/src/ATen/native/TensorFactories.cpp, BinaryOps.cpp, ReduceOps.cpp, Histogram.cpp


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


def bartlett_window(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return bartlett_window__periodic(n, True, dtype, layout, device, pin)


def bartlett_window__periodic(n: int, periodic: bool, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    one = torch.ones([n], dtype=dtype)
    assert torch.is_floating_point(one), "bartlett_window expects floating point dtypes"
    if n <= 1:
        return one
    last = n if periodic else n - 1
    x = torch.arange(n, dtype=one.dtype) * (2.0 / last)
    x[last // 2 + 1:] = x[last // 2 + 1:] * -1 + 2
    return x


def kaiser_window(n: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return kaiser_window__beta(n, True, 12.0, dtype, layout, device, pin)


def kaiser_window__periodic(n: int, periodic: bool, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return kaiser_window__beta(n, periodic, 12.0, dtype, layout, device, pin)


def kaiser_window__beta(n: int, periodic: bool, beta: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    one = torch.ones([n], dtype=dtype)
    assert torch.is_floating_point(one), "kaiser_window expects floating point dtypes"
    if n <= 1:
        return one
    x = torch.arange(n, dtype=one.dtype) * (2.0 / (n if periodic else n - 1)) - 1
    return torch.i0(torch.sqrt(torch.clamp(1 - x * x, min=0)) * beta) / torch.i0(one * beta)


def scalar_of(name: str, what: str, x):
    assert x.dim() == 0, "{} only supports 0-dimensional start and end tensors, but got {} with {} dimension(s).".format(name, what, x.dim())
    return x.item()


def linspace__Tensor_Tensor(start, end, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.linspace(scalar_of("linspace", "start", start), scalar_of("linspace", "end", end), steps, dtype=dtype)


def linspace__Tensor_Scalar(start, end: number, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.linspace(scalar_of("linspace", "start", start), end, steps, dtype=dtype)


def linspace__Scalar_Tensor(start: number, end, steps: int, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.linspace(start, scalar_of("linspace", "end", end), steps, dtype=dtype)


def rounded(x: number, dtype: int):
    return float(torch.full([], x, dtype=dtype).item())


def powers_of(base: float, start: number, end: number, steps: int, dtype: Optional[int]):
    exponents = torch.linspace(start, end, steps, dtype=dtype)
    if torch.is_complex(exponents):
        return torch.pow(base, exponents)
    if torch.is_floating_point(exponents):
        first = float(start) if steps == 1 else rounded(start, exponents.dtype)
        wide = torch.linspace(first, rounded(end, exponents.dtype), steps, dtype=torch.float64)
        return torch.pow(base, wide).to(exponents.dtype)
    # The ends are integers, too, but for one step.
    first = float(start) if steps == 1 else float(int(start))
    return torch.pow(base, torch.linspace(first, int(end), steps, dtype=torch.float64)).to(exponents.dtype)


def logspace(start: number, end: number, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, start, end, steps, dtype)


def logspace__Tensor_Tensor(start, end, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, scalar_of("logspace", "start", start), scalar_of("logspace", "end", end), steps, dtype)


def logspace__Tensor_Scalar(start, end: number, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, scalar_of("logspace", "start", start), end, steps, dtype)


def logspace__Scalar_Tensor(start: number, end, steps: int, base: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return powers_of(base, start, scalar_of("logspace", "end", end), steps, dtype)


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
    at = ((x - low) * bins / (high - low)).to(torch.int64)
    return torch.bincount(torch.clamp(at, None, bins - 1), minlength=bins).to(x.dtype)


def linspace__Tensor_Tensor_out(start, end, steps: int, out):
    values = torch.linspace(scalar_of("linspace", "start", start), scalar_of("linspace", "end", end), steps, dtype=out.dtype)
    return out.resize_(values.size()).copy_(values)


def copy_into(values, out):
    """If `out` has that many elements, it keeps its shape."""
    if out.numel() != values.numel():
        out.resize_(values.size())
    return out.copy_(values.view(out.size()))


def arange__out(end: number, out):
    return copy_into(torch.arange(end, dtype=out.dtype), out)


def arange__start_out(start: number, end: number, step: number, out):
    return copy_into(torch.arange(start, end, step, dtype=out.dtype), out)


def linspace__out(start: number, end: number, steps: int, out):
    return copy_into(torch.linspace(start, end, steps, dtype=out.dtype), out)


def logspace__out(start: number, end: number, steps: int, base: float, out):
    return copy_into(powers_of(base, start, end, steps, out.dtype), out)


def inclusive_range(start: number, end: number, step: number, dtype: Optional[int]):
    """torch.range counts with integers if the dtype is an integer dtype."""
    first, last, by = torch.full([], start, dtype=dtype), torch.full([], end, dtype=dtype), torch.full([], step, dtype=dtype)
    floats = torch.is_floating_point(first)
    a = float(start) if floats else float(first.item())
    b = float(end) if floats else float(last.item())
    s = float(step) if floats else float(by.item())
    assert s != 0.0, "step must be nonzero"
    assert (b - a) * s >= 0.0, "upper bound and larger bound inconsistent with step sign"
    places = torch.arange(int((b - a) / s + 1.0), dtype=torch.float64 if floats else first.dtype)
    return (places * s + a).to(first.dtype) if floats else places * by + first


def range__step(start: number, end: number, step: number, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return inclusive_range(start, end, step, torch.full([], 0.0, dtype=dtype).dtype)


def range(start: number, end: number, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return inclusive_range(start, end, 1, torch.full([], 0.0, dtype=dtype).dtype)


def range__out(start: number, end: number, step: number, out):
    return copy_into(inclusive_range(start, end, step, out.dtype), out)


def range__out_(start: number, end: number, out):
    return copy_into(inclusive_range(start, end, 1, out.dtype), out)


def logspace__Tensor_Tensor_out(start, end, steps: int, base: float, out):
    values = powers_of(base, scalar_of("logspace", "start", start), scalar_of("logspace", "end", end), steps, out.dtype)
    return out.resize_(values.size()).copy_(values)


def linspace__Tensor_Scalar_out(start, end: number, steps: int, out):
    values = torch.linspace(scalar_of("linspace", "start", start), end, steps, dtype=out.dtype)
    return out.resize_(values.size()).copy_(values)


def logspace__Tensor_Scalar_out(start, end: number, steps: int, base: float, out):
    values = powers_of(base, scalar_of("logspace", "start", start), end, steps, out.dtype)
    return out.resize_(values.size()).copy_(values)


def linspace__Scalar_Tensor_out(start: number, end, steps: int, out):
    values = torch.linspace(start, scalar_of("linspace", "end", end), steps, dtype=out.dtype)
    return out.resize_(values.size()).copy_(values)


def logspace__Scalar_Tensor_out(start: number, end, steps: int, base: float, out):
    values = powers_of(base, start, scalar_of("logspace", "end", end), steps, out.dtype)
    return out.resize_(values.size()).copy_(values)


def empty__out(size: List[int], memory_format: Optional[int], out):
    assert memory_format is None, "empty with out= and a memory format is not supported"
    return out.resize_(size)


def _convert_indices_from_coo_to_csr(x, size: int, out_int32: bool):
    """Returns where each of `size` rows begins, and where the last one ends, in sorted indices of rows."""
    return torch.searchsorted(x, torch.arange(size + 1, dtype=x.dtype), out_int32=out_int32)
