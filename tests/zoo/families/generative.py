"""Networks that generate images, or estimate their likelihood."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Generator(nn.Module):
    """DCGAN."""

    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.ConvTranspose2d(10, 4 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(True),
            nn.ConvTranspose2d(4 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.body(z[:, :, None, None])


class Discriminator(nn.Module):
    """A discriminator with spectral norm."""

    def __init__(self):
        super().__init__()
        norm = nn.utils.parametrizations.spectral_norm
        self.body = nn.Sequential(norm(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.2), norm(nn.Conv2d(8, 16, 4, 2, 1)), nn.InstanceNorm2d(16, affine=True),
                                  nn.LeakyReLU(0.2), nn.Flatten(), norm(nn.Linear(16 * 16, 1)))

    def forward(self, x):
        return self.body(x)


class StyleConv(nn.Module):
    """A mapping network, and a grouped convolution with weights that each image's style modulates (StyleGAN 2)."""

    def __init__(self, width=6):
        super().__init__()
        self.map = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, width))
        self.start, self.weight = nn.Parameter(torch.randn(1, width, 4, 4)), nn.Parameter(torch.randn(5, width, 3, 3))
        self.register_buffer("blur", torch.tensor([1.0, 3.0, 3.0, 1.0]).outer(torch.tensor([1.0, 3.0, 3.0, 1.0])) / 64)

    def forward(self, z):
        z = z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8)
        style = self.map(z) + 1
        w = self.weight.unsqueeze(0) * style[:, None, :, None, None]
        w = w * torch.rsqrt(w.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        n = z.size(0)
        x = F.interpolate(self.start.expand(n, -1, -1, -1), scale_factor=2, mode="nearest")
        x = F.conv2d(x.reshape(1, -1, 8, 8), w.flatten(0, 1), padding=1, groups=n).view(n, -1, 8, 8)
        return F.conv2d(F.pad(x, (2, 1, 2, 1)), self.blur.expand(x.size(1), 1, -1, -1), groups=x.size(1))


class Vae(nn.Module):
    """A variational autoencoder that draws its own noise."""

    def __init__(self):
        super().__init__()
        self.into, self.mean, self.spread, self.back = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 20))

    def forward(self, x):
        h = F.relu(self.into(x))
        mean, log = self.mean(h), self.spread(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log)
        return self.back(z).sigmoid(), -0.5 * (1 + log - mean.square() - log.exp()).sum(1)


class VqVae(nn.Module):
    """Vector quantization: the nearest codebook entry for each position."""

    def __init__(self, width=8):
        super().__init__()
        self.into, self.back, self.book = nn.Conv2d(1, width, 4, 2, 1), nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Embedding(12, width)

    def forward(self, x):
        z = self.into(x).permute(0, 2, 3, 1)
        flat = z.flatten(0, 2)
        far = flat.square().sum(1, keepdim=True) - 2 * flat @ self.book.weight.t() + self.book.weight.square().sum(1)
        word = far.argmin(1)
        near = self.book(word).view_as(z)
        return self.back((z + (near - z)).permute(0, 3, 1, 2)), word


class RealNvp(nn.Module):
    """Affine couplings: the transform of x, its likelihood, and the inverse."""

    def __init__(self, width=6, layers=4):
        super().__init__()
        self.nets = nn.ModuleList([nn.Sequential(nn.Linear(width // 2, 16), nn.Tanh(), nn.Linear(16, width)) for _ in range(layers)])

    def forward(self, x):
        z, volume = x, 0
        for net in self.nets:
            a, b = z.chunk(2, 1)
            s, t = net(a).chunk(2, 1)
            z, volume = torch.cat([b * s.tanh().exp() + t, a], 1), volume + s.tanh().sum(1)
        back = z
        for net in reversed(self.nets):
            b, a = back.chunk(2, 1)
            s, t = net(a).chunk(2, 1)
            back = torch.cat([a, (b - t) * (-s.tanh()).exp()], 1)
        likely = torch.distributions.Normal(0.0, 1.0, validate_args=False).log_prob(z).sum(1) + volume
        return z, likely, back


class Spline(nn.Module):
    """Monotone rational splines with bins of learned sizes (neural spline flow)."""

    def __init__(self, width=4, bins=5):
        super().__init__()
        self.bins, self.net = bins, nn.Linear(width, width * (3 * bins + 1))

    def forward(self, x, given):
        w, h, d = self.net(given).unflatten(1, (x.size(1), -1)).split([self.bins, self.bins, self.bins + 1], -1)
        w, h, d = w.softmax(-1), h.softmax(-1), F.softplus(d) + 1e-3
        left, low = F.pad(w.cumsum(-1), (1, 0)), F.pad(h.cumsum(-1), (1, 0))
        x = x.sigmoid()
        at = (torch.searchsorted(left.contiguous(), x.unsqueeze(-1)) - 1).clamp(0, self.bins - 1)
        pick = lambda t, i=at: t.gather(-1, i).squeeze(-1)
        t, slope = (x - pick(left)) / pick(w), pick(h) / pick(w)
        below, above = pick(d), pick(d, at + 1)
        bottom = slope + (above + below - 2 * slope) * t * (1 - t)
        y = pick(low) + pick(h) * (slope * t**2 + below * t * (1 - t)) / bottom
        return y, torch.log(slope**2 * (above * t**2 + 2 * slope * t * (1 - t) + below * (1 - t) ** 2)) - 2 * bottom.log()


class Made(nn.Module):
    """An autoregressive density, by masks on weights."""

    def __init__(self, width=6, hidden=18):
        super().__init__()
        self.first, self.last = nn.Linear(width, hidden), nn.Linear(hidden, width)
        degree = torch.arange(hidden) % (width - 1)
        self.register_buffer("mask1", (degree.unsqueeze(1) >= torch.arange(width)).float())
        self.register_buffer("mask2", (torch.arange(width).unsqueeze(1) > degree).float())

    def forward(self, x):
        h = F.relu(F.linear(x, self.first.weight * self.mask1, self.first.bias))
        return -F.binary_cross_entropy_with_logits(F.linear(h, self.last.weight * self.mask2, self.last.bias), x, reduction="none").sum(1)


class DiffusionUnet(nn.Module):
    """Predicts the noise in an image at a time step: residual blocks with a time embedding, and attention at the bottom."""

    def __init__(self, width=8):
        super().__init__()
        self.width, self.time = width, nn.Sequential(nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, 16))
        block = lambda a, b: nn.ModuleDict({"norm1": nn.GroupNorm(4, a), "conv1": nn.Conv2d(a, b, 3, padding=1), "time": nn.Linear(16, 2 * b), "norm2": nn.GroupNorm(4, b),
                                            "conv2": nn.Conv2d(b, b, 3, padding=1), "skip": nn.Conv2d(a, b, 1)})
        self.first, self.down, self.halve = nn.Conv2d(3, width, 3, padding=1), block(width, width), nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.middle, self.up, self.last = block(2 * width, 2 * width), block(3 * width, width), nn.Sequential(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))
        self.norm, self.attend = nn.GroupNorm(4, 2 * width), nn.MultiheadAttention(2 * width, 2, batch_first=True)

    @staticmethod
    def run(b, x, time):
        scale, shift = b["time"](F.silu(time))[:, :, None, None].chunk(2, 1)
        y = b["conv1"](F.silu(b["norm1"](x)))
        return b["skip"](x) + b["conv2"](F.silu(b["norm2"](y) * (1 + scale) + shift))

    def forward(self, x, t):
        wave = t.float().unsqueeze(1) * torch.exp(torch.arange(self.width // 2) * (-math.log(10000) / (self.width // 2)))
        time = self.time(torch.cat([wave.sin(), wave.cos()], 1))
        kept = self.run(self.down, self.first(x), time)
        y = self.run(self.middle, self.halve(kept), time)
        flat = self.norm(y).flatten(2).mT
        y = y + self.attend(flat, flat, flat, need_weights=False)[0].mT.reshape(y.shape)
        return self.last(self.run(self.up, torch.cat([F.interpolate(y, scale_factor=2.0), kept], 1), time))


class Sampler(nn.Module):
    """Samples a point from noise with the deterministic rule of DDIM."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 24), nn.SiLU(), nn.Linear(24, 2))
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-4, 0.3, 10), 0))

    def forward(self, x):
        for t in range(9, 0, -3):
            a, b = self.kept[t], self.kept[max(t - 3, 0)]
            noise = self.net(torch.cat([x, torch.full_like(x[:, :1], t / 10)], 1))
            x = b.sqrt() * (x - (1 - a).sqrt() * noise) / a.sqrt() + (1 - b).sqrt() * noise
        return x


class DiT(nn.Module):
    """A transformer block that a condition scales and shifts."""

    def __init__(self, width=16):
        super().__init__()
        self.embed, self.cut = nn.Embedding(5, width), nn.Conv2d(3, width, 4, 4)
        self.norm1, self.norm2 = nn.LayerNorm(width, elementwise_affine=False), nn.LayerNorm(width, elementwise_affine=False)
        self.attend, self.feed = nn.MultiheadAttention(width, 2, batch_first=True), nn.Sequential(nn.Linear(width, 32), nn.GELU("tanh"), nn.Linear(32, width))
        self.tell, self.head = nn.Linear(width, 6 * width), nn.Linear(width, 48)

    def forward(self, x, label):
        y = self.cut(x)
        h, w = y.shape[2:]
        y = y.flatten(2).mT
        s1, c1, g1, s2, c2, g2 = self.tell(F.silu(self.embed(label))).unsqueeze(1).chunk(6, -1)
        z = self.norm1(y) * (1 + c1) + s1
        y = y + g1 * self.attend(z, z, z)[0]
        y = y + g2 * self.feed(self.norm2(y) * (1 + c2) + s2)
        return F.fold(self.head(y).mT, (4 * h, 4 * w), 4, stride=4)


class Energy(nn.Module):
    """A restricted Boltzmann machine: free energy, and one step of Gibbs sampling by its means."""

    def __init__(self):
        super().__init__()
        self.w, self.b, self.c = nn.Parameter(torch.randn(12, 6)), nn.Parameter(torch.randn(12)), nn.Parameter(torch.randn(6))

    def forward(self, v):
        h = torch.sigmoid(v @ self.w + self.c)
        return -(v @ self.b) - F.softplus(v @ self.w + self.c).sum(1), torch.bernoulli(torch.sigmoid(h @ self.w.t() + self.b))


def numbers(*sizes):
    return lambda: (torch.randn(*sizes),)


MODELS = {
    "DCGAN generator": (Generator, numbers(2, 10)), "discriminator with spectral norm": (Discriminator, numbers(2, 3, 16, 16)), "StyleGAN convolution": (StyleConv, numbers(2, 8)),
    "VAE": (Vae, numbers(3, 20)), "VQ-VAE": (VqVae, numbers(2, 1, 8, 8)), "RealNVP": (RealNvp, numbers(5, 6)), "spline flow": (Spline, lambda: (torch.randn(3, 4), torch.randn(3, 4))),
    "MADE": (Made, lambda: (torch.randint(0, 2, (3, 6)).float(),)), "diffusion U-Net": (DiffusionUnet, lambda: (torch.randn(2, 3, 8, 8), torch.tensor([3, 700]))),
    "DDIM sampler": (Sampler, numbers(4, 2)), "DiT block": (DiT, lambda: (torch.randn(2, 3, 16, 16), torch.tensor([1, 4]))),
    "Boltzmann machine": (Energy, lambda: (torch.randint(0, 2, (3, 12)).float(),)),
}
