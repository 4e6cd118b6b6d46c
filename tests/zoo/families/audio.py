"""Networks that take sounds and give words or other sounds."""

import torch
import torch.nn.functional as F
from torch import nn


class ConvTasnet(nn.Module):
    """Separates voices: a learned basis, a mask for each voice, and the inverse basis."""

    def __init__(self, width=12, voices=2):
        super().__init__()
        self.voices, self.into, self.back = voices, nn.Conv1d(1, width, 16, 8, bias=False), nn.ConvTranspose1d(width, 1, 16, 8, bias=False)
        self.norm = nn.GroupNorm(1, width, eps=1e-8)
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.Conv1d(width, 16, 1), nn.PReLU(), nn.GroupNorm(1, 16), nn.Conv1d(16, 16, 3, padding=2**i, dilation=2**i, groups=16),
            nn.PReLU(), nn.GroupNorm(1, 16), nn.Conv1d(16, width, 1)) for i in range(3)])
        self.mask = nn.Conv1d(width, voices * width, 1)

    def forward(self, sound):
        seen = self.into(sound.unsqueeze(1))
        x = self.norm(seen)
        for block in self.blocks:
            x = x + block(x)
        masks = self.mask(x).unflatten(1, (self.voices, -1)).sigmoid()
        return self.back((masks * seen.unsqueeze(1)).flatten(0, 1)).view(sound.size(0), self.voices, -1)


class WaveNet(nn.Module):
    """Gates over dilated convolutions, skips, a distribution over 32 levels of mu-law."""

    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList([nn.Conv1d(width, 2 * width, 2, dilation=2**i) for i in range(4)])
        self.keep, self.skip = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(4)]), nn.ModuleList([nn.Conv1d(width, 12, 1) for _ in range(4)])
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(12, 16, 1), nn.ReLU(), nn.Conv1d(16, 32, 1))

    def forward(self, sound):
        x = torch.sign(sound) * torch.log1p(31 * sound.abs()) / torch.log(torch.tensor(32.0))
        x, skips = self.first(x.unsqueeze(1)), 0
        for i, (gate, keep, skip) in enumerate(zip(self.gates, self.keep, self.skip)):
            a, b = gate(F.pad(x, (2**i, 0))).chunk(2, 1)
            y = a.tanh() * b.sigmoid()
            x, skips = x + keep(y), skips + skip(y)
        return self.out(skips).softmax(1)


class Conformer(nn.Module):
    """Half a feed-forward layer, attention with relative positions, a convolution, and the other half."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        feed = lambda: nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 32), nn.SiLU(), nn.Linear(32, width))
        self.feed1, self.feed2, self.norm1, self.norm2, self.norm3 = feed(), feed(), nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.place, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.u, self.v = nn.Parameter(torch.randn(heads, width // heads)), nn.Parameter(torch.randn(heads, width // heads))
        self.wide, self.depth, self.narrow = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 7, padding=3, groups=width), nn.Conv1d(width, width, 1)
        self.bn = nn.BatchNorm1d(width)

    def attend(self, x):
        n, t, w = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, -1).unbind(2)
        apart = torch.arange(t - 1, -t, -1.0).unsqueeze(1) * torch.exp(torch.arange(0, w, 2) * -0.5)
        places = self.place(torch.stack((apart.sin(), apart.cos()), -1).flatten(1)).view(-1, self.heads, w // self.heads)
        content = torch.einsum("nthd,nshd->nhts", q + self.u, k)
        shifted = F.pad(torch.einsum("nthd,shd->nhts", q + self.v, places), (1, 0)).view(n, self.heads, 2 * t, t)[:, :, 1:].reshape(n, self.heads, t, -1)
        score = (content + shifted[..., :t]) * (w // self.heads) ** -0.5
        return self.out(torch.einsum("nhts,nshd->nthd", score.softmax(-1), v).flatten(2))

    def forward(self, x):
        x = x + 0.5 * self.feed1(x)
        x = x + self.attend(self.norm1(x))
        x = x + self.narrow(F.silu(self.bn(self.depth(F.glu(self.wide(self.norm2(x).mT), 1))))).mT
        return self.norm3(x + 0.5 * self.feed2(x))


class MelSpectrum(nn.Module):
    """Recognizes words in a waveform: stft, mel bands, convolutions and a recurrent network."""

    def __init__(self, n_fft=64, bands=10):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("mel", torch.rand(bands, n_fft // 2 + 1))
        self.look, self.read, self.say = nn.Conv1d(bands, 16, 3, padding=1), nn.GRU(16, 12, batch_first=True), nn.Linear(12, 5)

    def forward(self, sound):
        power = torch.stft(sound, self.n_fft, 16, window=self.window, return_complex=True).abs().square()
        mel = torch.log(torch.clamp(self.mel @ power, min=1e-5))
        return self.say(self.read(F.relu(self.look(mel)).mT)[0]).log_softmax(-1)


class SpectralMask(nn.Module):
    """Removes noise in the spectrum and reconstructs the waveform."""

    def __init__(self, n_fft=64):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.mask = nn.Sequential(nn.Conv1d(n_fft // 2 + 1, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, n_fft // 2 + 1, 1), nn.Sigmoid())

    def forward(self, sound):
        spectrum = torch.stft(sound, self.n_fft, 16, window=self.window, return_complex=True)
        return torch.istft(spectrum * self.mask(torch.log1p(spectrum.abs())), self.n_fft, 16, window=self.window, length=sound.size(-1))


class HifiGan(nn.Module):
    """A vocoder: transposed convolutions with weight norm, and residual blocks with several receptive fields."""

    def __init__(self, bands=10, width=16):
        super().__init__()
        norm = nn.utils.parametrizations.weight_norm
        self.first = norm(nn.Conv1d(bands, width, 7, padding=3))
        self.up = nn.ModuleList([norm(nn.ConvTranspose1d(width // 2**i, width // 2 ** (i + 1), 8, 4, 2)) for i in range(2)])
        self.rest = nn.ModuleList([nn.ModuleList([norm(nn.Conv1d(width // 2 ** (i + 1), width // 2 ** (i + 1), k, padding=(k - 1) * d // 2, dilation=d))
                                                  for k, d in ((3, 1), (3, 3), (7, 1))]) for i in range(2)])
        self.last = norm(nn.Conv1d(width // 4, 1, 7, padding=3))

    def forward(self, mel):
        x = self.first(mel)
        for up, rest in zip(self.up, self.rest):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(x + r(F.leaky_relu(x, 0.1)) for r in rest) / len(rest)
        return self.last(F.leaky_relu(x)).tanh()


class Tacotron(nn.Module):
    """Converts characters to mel frames with location-sensitive attention, two frames in each step."""

    def __init__(self, width=12, bands=6):
        super().__init__()
        self.bands = bands
        self.embed, self.read = nn.Embedding(30, width), nn.LSTM(width, width // 2, bidirectional=True, batch_first=True)
        self.pre, self.cell = nn.Sequential(nn.Linear(bands, 8), nn.ReLU()), nn.LSTMCell(8 + width, width)
        self.query, self.key, self.where, self.energy = nn.Linear(width, 8), nn.Linear(width, 8), nn.Conv1d(1, 8, 5, padding=2), nn.Linear(8, 1)
        self.frame, self.stop = nn.Linear(2 * width, 2 * bands), nn.Linear(2 * width, 1)

    def forward(self, text):
        seen, _ = self.read(self.embed(text))
        n, t, w = seen.shape
        h = c = context = seen.new_zeros(n, w)
        frame, sum_, frames, stops = seen.new_zeros(n, self.bands), seen.new_zeros(n, t), [], []
        for _ in range(3):
            h, c = self.cell(torch.cat([self.pre(frame), context], -1), (h, c))
            e = self.energy(torch.tanh(self.query(h).unsqueeze(1) + self.key(seen) + self.where(sum_.unsqueeze(1)).mT)).squeeze(-1)
            look = e.softmax(-1)
            sum_, context = sum_ + look, torch.bmm(look.unsqueeze(1), seen).squeeze(1)
            both = torch.cat([h, context], -1)
            out = self.frame(both).view(n, 2, self.bands)
            frame = out[:, -1]
            frames.append(out)
            stops.append(self.stop(both))
        return torch.cat(frames, 1), torch.cat(stops, 1).sigmoid()


class Sinc(nn.Module):
    """Band-pass filters with learned edges (SincNet)."""

    def __init__(self, filters=6, size=31):
        super().__init__()
        self.low, self.band = nn.Parameter(torch.linspace(50, 3000, filters)), nn.Parameter(torch.full((filters,), 200.0))
        self.register_buffer("time", torch.arange(-(size // 2), size // 2 + 1) / 8000.0)
        self.register_buffer("window", torch.hamming_window(size, periodic=False))

    def forward(self, sound):
        low = self.low.abs()
        high = (low + self.band.abs()).clamp(max=4000.0)
        pass_ = lambda f: 2 * f.unsqueeze(1) * torch.sinc(2 * f.unsqueeze(1) * self.time)
        filters = (pass_(high) - pass_(low)) / 8000.0 * self.window
        return F.max_pool1d(F.conv1d(sound.unsqueeze(1), filters.unsqueeze(1)).abs(), 3)


class XVector(nn.Module):
    """A speaker embedding: frames with context, and their mean and deviation, weighted by attention."""

    def __init__(self, bands=8, width=16):
        super().__init__()
        self.frames = nn.Sequential(nn.Conv1d(bands, width, 5), nn.ReLU(), nn.BatchNorm1d(width), nn.Conv1d(width, width, 3, dilation=2), nn.ReLU(), nn.BatchNorm1d(width))
        self.look, self.out = nn.Sequential(nn.Conv1d(width, 8, 1), nn.Tanh(), nn.Conv1d(8, width, 1)), nn.Linear(2 * width, 10)

    def forward(self, mel):
        x = self.frames(mel)
        weight = self.look(x).softmax(-1)
        mean = (weight * x).sum(-1)
        std = ((weight * x.square()).sum(-1) - mean.square()).clamp(min=1e-6).sqrt()
        return F.normalize(self.out(torch.cat([mean, std], -1)))


class Codec(nn.Module):
    """Residual vector quantization: encodes a sound and decodes it (EnCodec)."""

    def __init__(self, width=8, words=16, steps=3):
        super().__init__()
        self.into = nn.Sequential(nn.Conv1d(1, width, 7, padding=3), nn.ELU(), nn.Conv1d(width, width, 8, 4, 2))
        self.books = nn.Parameter(torch.randn(steps, words, width))
        self.back = nn.Sequential(nn.ConvTranspose1d(width, width, 8, 4, 2), nn.ELU(), nn.Conv1d(width, 1, 7, padding=3))

    def forward(self, sound):
        rest = self.into(sound).mT
        said, codes = torch.zeros_like(rest), []
        for book in self.books:
            code = torch.cdist(rest, book.expand(rest.size(0), -1, -1)).argmin(-1)
            word = F.embedding(code, book)
            said, rest = said + word, rest - word
            codes.append(code)
        return torch.stack(codes, 1), self.back(said.mT)


def waves(n, size):
    return lambda: (torch.sin(torch.arange(n * size).view(n, size) * 0.3) * 0.5 + torch.randn(n, size) * 0.1,)


def numbers(*sizes):
    return lambda: (torch.randn(*sizes),)


MODELS = {
    "Conv-TasNet": (ConvTasnet, waves(2, 200)), "WaveNet": (WaveNet, waves(2, 60)), "Conformer": (Conformer, numbers(2, 11, 16)),
    "stft, mel, GRU": (MelSpectrum, waves(2, 400)), "spectral mask with istft": (SpectralMask, waves(2, 400)), "HiFi-GAN": (HifiGan, numbers(1, 10, 9)),
    "Tacotron": (Tacotron, lambda: (torch.randint(0, 30, (2, 8)),)), "SincNet": (Sinc, waves(2, 300)), "x-vector": (XVector, numbers(2, 8, 30)),
    "residual vector codec": (Codec, lambda: (torch.randn(2, 1, 64),)),
}
