"""Fourier transforms, stft and its inverse, windows."""
from conformance import *

# 1, factors with their own pass, primes without one, sizes beyond mixed radix, and products of these.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 25, 30, 47, 49, 53, 64, 97, 106, 120)
LONG = (400, 1021, 1024)  # where PyTorch's own float32 transforms have errors of about 1e-5
COMPLEX_LINE = "(torch.fft.fft(x), torch.fft.ifft(x), torch.fft.irfft(x, 2 * x.size(0) - 1), torch.fft.hfft(x, 2 * x.size(0) - 1))"
REAL_LINE = "(torch.fft.fft(x), torch.fft.rfft(x), torch.fft.ifft(x), torch.fft.ihfft(x))"


#: Differences up to 4 times the default tolerance were measured, for elements near 0.
SUMMED = "each element is a sum of all others, in another order: small ones have the error of the large terms"


def lines(name, body, dtype, lengths, **tolerance):
    row(f"{name}_{dtype}", body, x=random(dtype, lengths[0]), also=[{"x": random(dtype, n)} for n in lengths[1:]], **tolerance)


for dtype in ("c64", "f32"):
    lines("fft_lengths", COMPLEX_LINE if dtype == "c64" else REAL_LINE, dtype, LENGTHS, atol=1e-5, why=SUMMED)
    lines("fft_long_lengths", COMPLEX_LINE if dtype == "c64" else REAL_LINE, dtype, LONG, atol=2e-5, why=SUMMED)
for dtype in ("c128", "f64"):
    lines("fft_lengths", COMPLEX_LINE if dtype == "c128" else REAL_LINE, dtype, LENGTHS + LONG, rtol=1e-10, atol=1e-11, why="tighter than the default: 6e-14 was measured")
row("fft_long", "(torch.fft.fft(x), torch.fft.rfft(x.real))", x=random("c64", 4096), also=[{"x": random("c64", 4099)}, {"x": random("c64", 3 * 5 * 7 * 11 * 13)}], atol=2e-4, why=SUMMED)
row("fft_of_waves", "torch.fft.rfft(torch.sin(x * 0.5) + 1e3)", x=f32(60, lo=0, hi=1), atol=1e-2,
    why="terms of 1,000 cancel to answers near 1: 0.004 was measured, which is 4e-6 of the terms")
row("fft_norms", """
    return (torch.fft.fft(x, norm='ortho'), torch.fft.fft(x, norm='forward'), torch.fft.fft(x, norm='backward'), torch.fft.ifft(x, norm='ortho'), torch.fft.ifft(x, norm='forward'),
            torch.fft.ifft(x, norm='backward'), torch.fft.irfft(x, norm='ortho'), torch.fft.irfft(x, norm='forward'), torch.fft.hfft(x, norm='ortho'), torch.fft.hfft(x, norm='forward'),
            torch.fft.rfft(x.real, norm='ortho'), torch.fft.rfft(x.real, norm='forward'), torch.fft.ihfft(x.real, norm='ortho'), torch.fft.ihfft(x.real, norm='forward'))""", x=random("c64", 3, 10))
row("fft_norm_wrong", "torch.fft.fft(x, norm='unit')", x=f32(3), raises="Invalid normalization mode")
row("fft_padded_and_trimmed", """
    return (torch.fft.fft(x, n), torch.fft.fft(x, n, 0), torch.fft.ifft(x, n, 1), torch.fft.irfft(x, n), torch.fft.hfft(x, n, 0), torch.fft.rfft(x.real, n, 0),
            torch.fft.ihfft(x.real, n), torch.fft.fft(x.real, n))""", x=random("c64", 4, 5), n=7, also=[{"n": 3}, {"n": 4}, {"n": 1}])
row("fft_n_wrong", "torch.fft.fft(x, n)", x=f32(3), n=0, raises="Invalid number of data points")
row("fft_dim_wrong", "torch.fft.fft(x, None, 2)", x=f32(3, 4), raises="out of range")
row("fft_no_dimensions", "torch.fft.fft(x)", x=f32(), raises="has no dimensions")
row("fft_nothing", "torch.fft.fft(x)", x=f32(3, 0), raises="Invalid number of data points")
row("fft_no_rows", "(torch.fft.fft(x), torch.fft.rfft(x), torch.fft.irfft(x))", x=f32(0, 4))
row("rfft_of_complex", "torch.fft.rfft(x)", x=random("c64", 3), raises="expects a real input tensor")
row("fft_of_integers", "(torch.fft.fft(x), torch.fft.rfft(x), torch.fft.irfft(x), torch.fft.fftn(x))", x=i64(2, 6), also=[{"x": b8(2, 6)}, {"x": u8(2, 6)}])
row("fft_of_halves", "torch.fft.fft(x)", x=random("f16", 4), raises="Unsupported dtype")
row("fft_of_bfloat16", "torch.fft.rfft(x)", x=random("bf16", 4), raises="Unsupported dtype")
row("fft_special", "(torch.fft.fft(x), torch.fft.rfft(y))", x=tensor([complex(NAN, NAN), 0j, 1j, 2 + 0j], "c64"), y=tensor([1.0, NAN, 2.0, 0.0, 1.0]))
row("fft_strides", """
    y = torch.fft.fft(x, None, 0)
    return (y, y.stride(), torch.fft.rfft(x.real, None, 1).stride(), torch.fft.irfft(x, None, 0).stride(), torch.fft.ifft(x.real).is_conj(), torch.fft.ihfft(x.real).is_conj(), y.is_conj(),
            torch.fft.fft2(x).stride(), torch.fft.fft(x.conj(), None, 1), torch.fft.irfft(x.conj(), None, 1), torch.fft.ifft(x.real) * 2)""",
    x=transposed(random("c64", 4, 6)), also=[{"x": noncontig(random("c64", 3, 5))}, {"x": permuted(random("c64", 3, 4, 5), 2, 0, 1)}])
row("fft_two_dims", "(torch.fft.fft2(x), torch.fft.ifft2(x), torch.fft.irfft2(x), torch.fft.hfft2(x), torch.fft.rfft2(x.real), torch.fft.ihfft2(x.real), torch.fft.fft2(x.real), torch.fft.ifft2(x.real))",
    x=random("c64", 2, 5, 6), also=[{"x": random("c64", 7, 3)}, {"x": permuted(random("c64", 3, 4, 5), 2, 0, 1)}])
row("fft_all_dims", "(torch.fft.fftn(x), torch.fft.ifftn(x), torch.fft.irfftn(x), torch.fft.hfftn(x), torch.fft.rfftn(x.real), torch.fft.ihfftn(x.real), torch.fft.fftn(x.real), torch.fft.ifftn(x.real))",
    x=random("c128", 3, 5, 4), also=[{"x": random("c128", 6)}, {"x": random("c128", 2, 3, 2, 5)}])
row("fft_some_dims", """
    return (torch.fft.fftn(x, s, d), torch.fft.ifftn(x, s, d, 'ortho'), torch.fft.irfftn(x, s, d, 'forward'), torch.fft.hfftn(x, s, d), torch.fft.rfftn(x.real, s, d, 'ortho'),
            torch.fft.ihfftn(x.real, s, d, 'forward'), torch.fft.rfft2(x.real, s, d), torch.fft.irfft2(x, s, d))""", x=random("c64", 4, 5, 6), s=[3, 8], d=[0, 2],
    also=[{"d": [2, 1]}, {"s": [-1, 4]}, {"s": [5, -1], "d": [-1, 0]}])
row("fft_sizes_alone", "(torch.fft.fftn(x, s), torch.fft.rfftn(x.real, s), torch.fft.irfftn(x, s))", x=random("c64", 4, 5, 6), s=[3, 8], also=[{"s": [7]}, {"s": [2, 2, 2]}])
row("fft_one_of_dims", "(torch.fft.ihfftn(x, None, [1]), torch.fft.rfftn(x, None, [0]), torch.fft.ihfftn(x, None, [1]).is_conj())", x=f32(4, 5))
row("fft_dims_twice", "torch.fft.fftn(x, None, [0, -2])", x=f32(4, 5), raises="FFT dims must be unique")
row("fft_more_sizes", "torch.fft.fftn(x, [1, 2, 3])", x=f32(4, 5), raises="only has 2 dimensions")
row("fft_sizes_differ", "torch.fft.fftn(x, [1, 2], [0])", x=f32(4, 5), raises="must have the same length")
row("fft_underneath", """
    return (torch._fft_c2c(x, [2, 0], 1, True), torch._fft_c2c(x, [1], 2, False), torch._fft_c2c(x, [], 0, True), torch._fft_r2c(x.real, [0, 2], 0, True), torch._fft_r2c(x.real, [1, 2], 2, False),
            torch._fft_c2r(x, [0, 1], 1, 8), torch._fft_c2r(x, [2, 1], 2, 7))""", x=random("c64", 3, 5, 4))
row("fft_shifts", "(torch.fft.fftshift(x), torch.fft.ifftshift(x), torch.fft.fftshift(x, [1]), torch.fft.ifftshift(x, [0, -1]), torch.fft.fftshift(x, 0))", x=f32(4, 5), also=[{"x": f32(3, 3)}, {"x": i64(3, 2, 5)}])
row("fft_frequencies", "(torch.fft.fftfreq(n), torch.fft.rfftfreq(n), torch.fft.fftfreq(n, 0.1), torch.fft.rfftfreq(n, 0.25, dtype=torch.float64), torch.fft.fftfreq(n, dtype=torch.float64))", n=7, also=[{"n": 8}, {"n": 1}, {"n": 2}])
row("fft_convolution", "torch.fft.irfft(torch.fft.rfft(x, 40) * torch.fft.rfft(y, 40), 40)[:, :36]", x=f32(3, 30), y=f32(7))
row("fft_mixes_tokens", "torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real", x=f32(2, 6, 8))

row("windows", "(torch.bartlett_window(n), torch.bartlett_window(n, periodic=False), torch.kaiser_window(n), torch.kaiser_window(n, False), torch.kaiser_window(n, True, beta=5.0), torch.kaiser_window(n, False, 8.6, dtype=torch.float64), torch.bartlett_window(n, dtype=torch.float64))",
    n=9, also=[{"n": 10}, {"n": 1}, {"n": 2}, {"n": 0}])
row("bartlett_window_of_integers", "torch.bartlett_window(n, dtype=torch.int64)", n=4, raises="floating point")

CLIP = dict(x=f32(2, 100), w=f32(16, lo=0.1, hi=1))
row("stft", """
    return (torch.stft(x, 16, return_complex=True), torch.stft(x, 16, 5, 16, w, return_complex=True), torch.stft(x, 16, 4, 16, w, center=False, return_complex=True),
            torch.stft(x, 16, 4, 16, w, normalized=True, onesided=False, return_complex=True), torch.stft(x, 20, 6, 16, w, pad_mode='constant', return_complex=True),
            torch.stft(x, 20, 7, 13, return_complex=True), torch.view_as_real(torch.stft(x[0], 16, 5, return_complex=True)), torch.stft(x, 16, window=w, return_complex=True).stride())""",
    **CLIP, also=[{"x": f32(1, 41)}, {"x": noncontig(f32(3, 64))}, {"x": f64(2, 50), "w": f64(16)}])
row("stft_as_pairs", "torch.stft(x, 16, 5, 16, w, return_complex=False)", **CLIP)
row("stft_of_one", "(torch.stft(x, 16, 5, 16, w, return_complex=True), torch.stft(x, 16, 5, center=False, return_complex=True))", x=f32(50), w=f32(16))
row("stft_of_complex", "(torch.stft(x, 16, 5, return_complex=True), torch.stft(x.real, 16, 5, 16, x[0, :16], onesided=False, return_complex=True))", x=random("c64", 2, 50))
row("stft_too_short", "torch.stft(x, 16, center=False, return_complex=True)", x=f32(10), raises="expected 0 < n_fft")
row("stft_hop_wrong", "torch.stft(x, 16, 0, return_complex=True)", x=f32(50), raises="expected hop_length > 0")
row("stft_window_wrong", "torch.stft(x, 16, 4, 16, w, return_complex=True)", x=f32(50), w=f32(15), raises="window")
row("istft", """
    y = torch.stft(x, 16, 4, 16, w, return_complex=True)
    z = torch.stft(x, 16, 5, 12, w[:12], onesided=False, normalized=True, return_complex=True)
    return (torch.istft(y, 16, 4, 16, w), torch.istft(y, 16, 4, 16, w, length=90), torch.istft(y, 16, 4, 16, w, length=120), torch.istft(y[0], 16, 4, 16, w), torch.istft(y * 1.5, 16, 4),
            torch.istft(z, 16, 5, 12, w[:12], normalized=True), torch.istft(z, 16, 5, 12, w[:12], onesided=False, normalized=True, return_complex=True),
            torch.istft(y, 16, 4, 16, w, center=False))""",
    **CLIP, also=[{"x": f64(1, 64), "w": f64(16, lo=0.1, hi=1)}])
row("istft_of_real", "torch.istft(x, 16)", x=f32(9, 4), raises="requires a complex-valued input")
row("istft_bins_wrong", "torch.istft(x, 16)", x=random("c64", 8, 4), raises="expected the frequency dimension")
row("istft_window_of_zeros", "torch.istft(x, 16, 16, 16, w)", x=random("c64", 9, 4), w=tensor([0.0] * 16), raises="window overlap add min")

# These are the calls of torchaudio.functional.
MEL = """
    s = torch.stft(F.pad(x, [2, 2], mode='constant'), 32, 12, 32, torch.hann_window(32), center=True, pad_mode='reflect', normalized=False, onesided=True, return_complex=True)
    power = s.abs().pow(2.0)
    f = torch.linspace(0, 8000, 17)
    m = 700.0 * (10.0 ** (torch.linspace(0.0, 2840.0, 10) / 2595.0) - 1.0)
    gap = m[1:] - m[:-1]
    slopes = m.unsqueeze(0) - f.unsqueeze(1)
    bank = torch.clamp(torch.min(-1.0 * slopes[:, :-2] / gap[:-1], slopes[:, 2:] / gap[1:]), min=0.0)
    mel = torch.matmul(power.transpose(-1, -2), bank).transpose(-1, -2)
"""
row("mel_spectrogram", MEL + "    return power, mel, torch.log(mel + 1e-6)", x=f32(2, 200))
row("mfcc", MEL + """
    db = 10.0 * torch.log10(torch.clamp(mel, min=1e-10))
    db = torch.max(db, (db.amax(dim=[-2, -1], keepdim=True) - 80.0))
    k = torch.arange(5.0).unsqueeze(1)
    dct = torch.cos(3.141592653589793 / 8.0 * (torch.arange(8.0) + 0.5) * k)
    dct[0] *= 1.0 / 2.0 ** 0.5
    return torch.matmul(db.transpose(-1, -2), (dct * (2.0 / 8.0) ** 0.5).t()).transpose(-1, -2)""", x=f32(2, 200), rtol=2e-5, atol=1e-5,
    why="a logarithm of small powers, and sums of them: half of the default was measured")
row("whisper_features", """
    s = torch.stft(x, 40, 16, window=torch.hann_window(40), return_complex=True)
    magnitudes = s[..., :-1].abs() ** 2
    log_spec = torch.clamp(m @ magnitudes, min=1e-10).log10()
    log_spec = torch.maximum(log_spec, log_spec.max() - 8.0)
    return (log_spec + 4.0) / 4.0""", x=f32(480), m=f32(8, 21, lo=0, hi=1))
row("griffin_lim_step", """
    w = torch.hann_window(16)
    y = torch.istft(m * torch.polar(torch.ones_like(p), p), 16, 4, 16, w)
    z = torch.stft(y, 16, 4, 16, w, return_complex=True)
    return z / (z.abs() + 1e-16), torch.angle(z).abs() > 4""", m=f32(2, 9, 20, lo=0.5, hi=1), p=f32(2, 9, 20, lo=-3, hi=3))
