# Follows aten/src/ATen/native/SpectralOps.cpp, TensorFactories.cpp

def fft_norm(norm: Optional[str], forward: bool) -> int:
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    assert norm == "ortho", 'Invalid normalization mode: "{}"'.format(norm)
    return 1


def fft_floats(x):
    return x if torch.is_floating_point(x) or torch.is_complex(x) else x.to(torch.float32)


def fft_complex(x):
    x = fft_floats(x)
    return x if torch.is_complex(x) else x.to(torch.complex128 if x.dtype == torch.float64 else torch.complex64)


def fft_dim(x, dim: int) -> int:
    n = x.dim()
    assert n > 0, "Dimension specified as {} but tensor has no dimensions".format(dim)
    assert dim >= -n and dim < n, "Dimension out of range (expected to be in range of [{}, {}], but got {})".format(-n, n - 1, dim)
    return dim if dim >= 0 else dim + n


def fft_checked_size(n: int) -> int:
    assert n >= 1, "Invalid number of data points ({}) specified".format(n)
    return n


def fft_resized(x, dims: List[int], sizes: List[int]):
    for k in range(len(dims)):
        d, n = dims[k], sizes[k]
        if x.size(d) > n:
            x = torch.narrow(x, d, 0, n)
        if x.size(d) < n:
            pads = [0] * (2 * (x.dim() - d))
            pads[len(pads) - 1] = n - x.size(d)
            x = torch.constant_pad_nd(x, pads, 0)
    return x


def fft_of_real(name: str, x, n: Optional[int], dim: int, norm: Optional[str], forward: bool, onesided: bool):
    assert not torch.is_complex(x), name + " expects a real input tensor"
    x = fft_floats(x)
    d = fft_dim(x, dim)
    length = fft_checked_size(x.size(d) if n is None else n)
    out = torch._fft_r2c(fft_resized(x, [d], [length]), [d], fft_norm(norm, forward), onesided)
    return out if forward else torch.conj(out)


def fft_to_real(x, n: Optional[int], dim: int, norm: Optional[str], forward: bool):
    x = fft_complex(x)
    d = fft_dim(x, dim)
    length = fft_checked_size(2 * (x.size(d) - 1) if n is None else n)
    x = fft_resized(x, [d], [length // 2 + 1])
    return torch._fft_c2r(torch.conj(x) if forward else x, [d], fft_norm(norm, forward), length)


def fft_any(name: str, x, n: Optional[int], dim: int, norm: Optional[str], forward: bool):
    if not torch.is_complex(x):
        return fft_of_real(name, x, n, dim, norm, forward, False)
    d = fft_dim(x, dim)
    length = fft_checked_size(x.size(d) if n is None else n)
    return torch._fft_c2c(fft_resized(x, [d], [length]), [d], fft_norm(norm, forward), forward)


def fft_fft(x, n: Optional[int], dim: int, norm: Optional[str]):
    return fft_any("fft", x, n, dim, norm, True)


def fft_ifft(x, n: Optional[int], dim: int, norm: Optional[str]):
    return fft_any("ifft", x, n, dim, norm, False)


def fft_rfft(x, n: Optional[int], dim: int, norm: Optional[str]):
    return fft_of_real("rfft", x, n, dim, norm, True, True)


def fft_ihfft(x, n: Optional[int], dim: int, norm: Optional[str]):
    return fft_of_real("ihfft", x, n, dim, norm, False, True)


def fft_irfft(x, n: Optional[int], dim: int, norm: Optional[str]):
    return fft_to_real(x, n, dim, norm, False)


def fft_hfft(x, n: Optional[int], dim: int, norm: Optional[str]):
    return fft_to_real(x, n, dim, norm, True)


def fft_dims(x, s: Optional[List[int]], dim: Optional[List[int]]) -> List[int]:
    dims: List[int] = []
    if dim is not None:
        for d in dim:
            d = fft_dim(x, d)
            assert d not in dims, "FFT dims must be unique"
            dims.append(d)
        assert s is None or len(s) == len(dims), "When given, dim and shape arguments must have the same length"
    else:
        n = x.dim() if s is None else len(s)
        assert n <= x.dim(), "Got shape with {} values but input tensor only has {} dimensions.".format(n, x.dim())
        for d in range(x.dim() - n, x.dim()):
            dims.append(d)
    return dims


def fft_sizes(x, s: Optional[List[int]], dims: List[int]) -> List[int]:
    sizes: List[int] = []
    for k in range(len(dims)):
        n = -1 if s is None else s[k]
        sizes.append(fft_checked_size(x.size(dims[k]) if n == -1 else n))
    return sizes


def fft_require_dims(name: str, dims: List[int]):
    assert len(dims) > 0, name + " must transform at least one axis"


def fft_complex_to_complex(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str], forward: bool):
    dims = fft_dims(x, s, dim)
    x = fft_resized(fft_complex(x), dims, fft_sizes(x, s, dims))
    return torch._fft_c2c(x, dims, fft_norm(norm, forward), forward)


def fft_fftn(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]):
    return fft_complex_to_complex(x, s, dim, norm, True)


def fft_ifftn(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]):
    return fft_complex_to_complex(x, s, dim, norm, False)


def fft_rfftn(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]):
    assert not torch.is_complex(x), "rfftn expects a real-valued input tensor"
    dims = fft_dims(x, s, dim)
    fft_require_dims("rfftn", dims)
    x = fft_resized(fft_floats(x), dims, fft_sizes(x, s, dims))
    return torch._fft_r2c(x, dims, fft_norm(norm, True), True)


def fft_ihfftn(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]):
    assert not torch.is_complex(x), "ihfftn expects a real-valued input tensor"
    dims = fft_dims(x, s, dim)
    fft_require_dims("ihfftn", dims)
    x = fft_resized(fft_floats(x), dims, fft_sizes(x, s, dims))
    how = fft_norm(norm, False)
    out = torch.conj(torch._fft_r2c(x, dims[-1:], how, True))
    return out if len(dims) == 1 else torch._fft_c2c(out, dims[:-1], how, False)


def fft_last_size(x, s: Optional[List[int]], dims: List[int]) -> int:
    last = -1 if s is None else s[len(s) - 1]
    return fft_checked_size(2 * (x.size(dims[-1]) - 1) if last == -1 else last)


def fft_half_spectrum(x, s: Optional[List[int]], dims: List[int], last: int):
    sizes = fft_sizes(x, s, dims)
    sizes[len(sizes) - 1] = last // 2 + 1
    return fft_resized(fft_complex(x), dims, sizes)


def fft_irfftn(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]):
    dims = fft_dims(x, s, dim)
    fft_require_dims("irfftn", dims)
    last = fft_last_size(x, s, dims)
    return torch._fft_c2r(fft_half_spectrum(x, s, dims, last), dims, fft_norm(norm, False), last)


def fft_hfftn(x, s: Optional[List[int]], dim: Optional[List[int]], norm: Optional[str]):
    dims = fft_dims(x, s, dim)
    fft_require_dims("hfftn", dims)
    last = fft_last_size(x, s, dims)
    x = fft_half_spectrum(x, s, dims, last)
    how = fft_norm(norm, True)
    if len(dims) > 1:
        x = torch._fft_c2c(x, dims[:-1], how, True)
    return torch._fft_c2r(torch.conj(x), dims[-1:], how, last)


def fft_fft2(x, s: Optional[List[int]], dim: List[int], norm: Optional[str]):
    return fft_fftn(x, s, dim, norm)


def fft_ifft2(x, s: Optional[List[int]], dim: List[int], norm: Optional[str]):
    return fft_ifftn(x, s, dim, norm)


def fft_rfft2(x, s: Optional[List[int]], dim: List[int], norm: Optional[str]):
    return fft_rfftn(x, s, dim, norm)


def fft_irfft2(x, s: Optional[List[int]], dim: List[int], norm: Optional[str]):
    return fft_irfftn(x, s, dim, norm)


def fft_hfft2(x, s: Optional[List[int]], dim: List[int], norm: Optional[str]):
    return fft_hfftn(x, s, dim, norm)


def fft_ihfft2(x, s: Optional[List[int]], dim: List[int], norm: Optional[str]):
    return fft_ihfftn(x, s, dim, norm)


def fft_shift(x, dim: Optional[List[int]], more: int):
    dims: List[int] = []
    shifts: List[int] = []
    for d in fft_dims(x, None, dim):
        dims.append(d)
        shifts.append((x.size(d) + more) // 2)
    return torch.roll(x, shifts, dims)


def fft_fftshift(x, dim: Optional[List[int]]):
    return fft_shift(x, dim, 0)


def fft_ifftshift(x, dim: Optional[List[int]]):
    return fft_shift(x, dim, 1)


def fft_fftfreq(n: int, d: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    x = torch.arange(n, dtype=torch.float32 if dtype is None else dtype)
    x[(n + 1) // 2:] = torch.arange(-(n // 2), 0, dtype=x.dtype)
    return x * (1.0 / (n * d))


def fft_rfftfreq(n: int, d: float, dtype: Optional[int], layout: Optional[int], device: Optional[Device], pin: Optional[bool]):
    return torch.arange(n // 2 + 1, dtype=torch.float32 if dtype is None else dtype) * (1.0 / (n * d))


def stft_frames(x, n_fft: int, hop: int, win: int, window: Optional[Tensor], normalized: bool, onesided: Optional[bool]):
    assert n_fft > 0 and n_fft <= x.size(1), "stft: expected 0 < n_fft < {}, but got n_fft={}".format(x.size(1), n_fft)
    assert hop > 0, "stft: expected hop_length > 0, but got hop_length={}".format(hop)
    assert win > 0 and win <= n_fft, "stft: expected 0 < win_length <= n_fft, but got win_length={}".format(win)
    count = 1 + (x.size(1) - n_fft) // hop
    frames = torch.as_strided(x, [x.size(0), count, n_fft], [x.stride(0), hop * x.stride(1), x.stride(1)], x.storage_offset())
    if window is not None:
        assert window.dim() == 1 and window.size(0) == win, "stft: expected a 1D window tensor of size equal to win_length={}".format(win)
        frames = frames * stft_window(window, n_fft, win)
    elif win < n_fft:
        frames = frames * stft_window(torch.ones([win], dtype=x.dtype), n_fft, win)
    how = 1 if normalized else 0
    if torch.is_complex(frames):
        assert onesided is None or not onesided, "Cannot have onesided output if window or input is complex"
        return torch._fft_c2c(frames, [2], how, True).transpose(1, 2)
    return torch._fft_r2c(frames, [2], how, True if onesided is None else onesided).transpose(1, 2)


def stft_window(window, n_fft: int, win: int):
    left = (n_fft - win) // 2
    return window if win == n_fft else torch.constant_pad_nd(window, [left, n_fft - win - left], 0)


def stft_checked(x):
    assert torch.is_floating_point(x) or torch.is_complex(x), "stft: expected a tensor of floating point or complex values"
    assert x.dim() == 1 or x.dim() == 2, "stft: expected a 1D or 2D tensor"
    return x.unsqueeze(0) if x.dim() == 1 else x


def stft(x, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], normalized: bool,
         onesided: Optional[bool], return_complex: Optional[bool]):
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    out = stft_frames(stft_checked(x), n_fft, hop, win, window, normalized, onesided)
    assert return_complex is not None or torch.is_complex(x) or (window is not None and torch.is_complex(window)), "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release."
    out = out.squeeze(0) if x.dim() == 1 else out
    return out if return_complex is None or return_complex else torch.view_as_real(out)


def stft__center(x, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], center: bool,
                 pad_mode: str, normalized: bool, onesided: Optional[bool], return_complex: Optional[bool]):
    rows = stft_checked(x)
    if center:
        rows = torch.pad(rows.unsqueeze(0), [n_fft // 2, n_fft // 2], pad_mode).squeeze(0)
    out = stft(rows, n_fft, hop_length, win_length, window, normalized, onesided, return_complex)
    return out.squeeze(0) if x.dim() == 1 else out


def istft_sum(frames, length: int, hop: int):
    # frames[channel][frame][place] added up where they lie
    count, n_fft = frames.size(1), frames.size(2)
    at = (torch.arange(count) * hop).unsqueeze(1) + torch.arange(n_fft)
    out = torch.zeros([frames.size(0), length], dtype=frames.dtype)
    return torch.index_add(out, 1, at.flatten(), frames.reshape([frames.size(0), count * n_fft]))


def istft(x, n_fft: int, hop_length: Optional[int], win_length: Optional[int], window: Optional[Tensor], center: bool,
          normalized: bool, onesided: Optional[bool], length: Optional[int], return_complex: bool):
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    assert torch.is_complex(x), "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
    assert x.numel() > 0, "istft input tensor cannot be empty."
    assert x.dim() == 2 or x.dim() == 3, "istft expected a tensor with 2 or 3 dimensions"
    bins, count = x.size(-2), x.size(-1)
    whole = n_fft + hop * (count - 1)
    half = bins != n_fft if onesided is None else onesided
    assert bins == (n_fft // 2 + 1 if half else n_fft), "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft{}, but got {}".format(" / 2 + 1 when onesided=True" if half else " when onesided=False", bins)
    assert hop > 0 and hop <= win, "expected 0 < hop_length <= win_length"
    assert win > 0 and win <= n_fft, "expected 0 < win_length <= n_fft"
    assert window is None or (window.dim() == 1 and window.size(0) == win), "Invalid window shape. window has to be 1D and length of `win_length`"
    real = torch.view_as_real(torch.resolve_conj(x)).dtype
    weights = stft_window(torch.ones([win], dtype=real) if window is None else window, n_fft, win)
    frames = (x.unsqueeze(0) if x.dim() == 2 else x).transpose(1, 2)
    how = 1 if normalized else 2
    if return_complex:
        assert not half, "Cannot have onesided output if window or input is complex"
        frames = torch._fft_c2c(frames, [2], how, False)
    else:
        assert not torch.is_complex(weights), "Complex windows are incompatible with return_complex=False"
        frames = torch._fft_c2r(frames if half else torch.narrow(frames, 2, 0, n_fft // 2 + 1), [2], how, n_fft)
    out = istft_sum(frames * weights, whole, hop)
    envelope = istft_sum(torch.pow(weights, 2).expand([1, count, n_fft]), whole, hop)
    start = n_fft // 2 if center else 0
    end = whole - n_fft // 2 if center else whole
    if length is not None:
        end = start + length
    out, envelope = out[:, start:end], envelope[:, start:end]
    assert not bool((torch.abs(envelope) < 1e-11).any()), "window overlap add min: 1"
    out = out / envelope
    if end > whole:
        out = torch.constant_pad_nd(out, [0, end - whole], 0)
    return out.squeeze(0) if x.dim() == 2 else out
