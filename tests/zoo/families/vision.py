"""Networks that take images."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def conv(before, after, stride=1):
    return nn.Sequential(nn.Conv2d(before, after, 3, stride, 1), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.ModuleList([conv(3, width), conv(width, 2 * width), conv(2 * width, 4 * width)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.join = nn.ModuleList([conv(4 * width, 2 * width), conv(2 * width, width)])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, kept[-2::-1]):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x).softmax(1)


class SuperResolution(nn.Module):
    """A pixel shuffle (ESPCN) that is added to bicubic interpolation."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 12, 3, padding=1))

    def forward(self, x):
        return (F.pixel_shuffle(self.body(x), 2) + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)).clamp(0, 1)


class ResidualDense(nn.Module):
    """The block of ESRGAN, twice, with reflection padding."""

    def __init__(self, width=8, growth=4):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1, padding_mode="reflect")
        self.blocks = nn.ModuleList([nn.ModuleList([nn.Conv2d(width + i * growth, growth if i < 3 else width, 3, padding=1)
                                                    for i in range(4)]) for _ in range(2)])

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            seen = [x]
            for layer in block:
                seen.append(F.leaky_relu(layer(torch.cat(seen, 1)), 0.2))
            x = x + 0.2 * seen[-1]
        return x


class Crnn(nn.Module):
    """Recognizes a line of text: convolutions, a recurrent network over columns, and probabilities for CTC."""

    def __init__(self, letters=11):
        super().__init__()
        self.look = nn.Sequential(conv(1, 8), nn.MaxPool2d(2), conv(8, 16), nn.MaxPool2d((2, 1)))
        self.read = nn.LSTM(16 * 4, 24, 2, bidirectional=True, batch_first=True)
        self.say = nn.Linear(48, letters)

    def forward(self, x):
        columns = self.look(x).permute(0, 3, 1, 2).flatten(2)
        return self.say(self.read(columns)[0]).log_softmax(-1)


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.Conv2d(1, 4, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(64, 6))
        self.what = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(3), nn.Flatten(), nn.Linear(54, 10))

    def forward(self, x):
        turn = self.where(x).view(-1, 2, 3) * 0.3 + torch.eye(2, 3)
        grid = F.affine_grid(turn, x.size(), align_corners=False)
        return self.what(F.grid_sample(x, grid, padding_mode="border", align_corners=False)), grid


class Capsules(nn.Module):
    """Routing by agreement in three iterations."""

    def __init__(self, kinds=4, size=6):
        super().__init__()
        self.look = nn.Conv2d(1, 16, 5, 3)
        self.votes = nn.Parameter(torch.randn(1, 64, kinds, size, 8) * 0.1)

    @staticmethod
    def squash(v):
        n = v.square().sum(-1, keepdim=True)
        return n / (1 + n) * v / (n + 1e-8).sqrt()

    def forward(self, x):
        parts = self.squash(self.look(x).flatten(1).unflatten(1, (-1, 8))[:, :64])
        votes = (self.votes @ parts[:, :, None, :, None]).squeeze(-1)
        weights = torch.zeros(votes.shape[:3])
        for _ in range(3):
            whole = self.squash((weights.softmax(2).unsqueeze(-1) * votes).sum(1))
            weights = weights + (votes * whole.unsqueeze(1)).sum(-1)
        return whole.norm(dim=-1)


class Mixer(nn.Module):
    """MLPs over patches and over channels."""

    def __init__(self, width=16, patches=16):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 8, 8)
        self.blocks = nn.ModuleList([nn.ModuleDict({
            "first": nn.LayerNorm(width), "across": nn.Sequential(nn.Linear(patches, 32), nn.GELU(), nn.Linear(32, patches)),
            "second": nn.LayerNorm(width), "within": nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))}) for _ in range(2)])
        self.head = nn.Linear(width, 7)

    def forward(self, x):
        x = self.cut(x).flatten(2).transpose(1, 2)
        for b in self.blocks:
            x = x + b["across"](b["first"](x).mT).mT
            x = x + b["within"](b["second"](x))
        return self.head(x.mean(1))


class Detr(nn.Module):
    """Queries that attend to an image and give classes and boxes."""

    def __init__(self, width=16, queries=5):
        super().__init__()
        self.look = nn.Sequential(conv(3, 8, 2), conv(8, width, 2))
        self.rows, self.columns = nn.Parameter(torch.randn(8, width // 2)), nn.Parameter(torch.randn(8, width // 2))
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.transformer = nn.Transformer(width, 4, 1, 1, 32, batch_first=True)
        self.classes, self.boxes = nn.Linear(width, 4), nn.Linear(width, 4)

    def forward(self, x):
        x = self.look(x)
        n, _, h, w = x.shape
        place = torch.cat([self.columns[:w].expand(h, -1, -1), self.rows[:h].unsqueeze(1).expand(-1, w, -1)], -1).flatten(0, 1)
        y = self.transformer(x.flatten(2).mT + place, self.queries.expand(n, -1, -1))
        return self.classes(y), self.boxes(y).sigmoid()


class Yolo(nn.Module):
    """A head with anchors; decoded boxes, not suppressed."""

    def __init__(self, classes=3):
        super().__init__()
        self.look = nn.Sequential(conv(3, 8, 2), conv(8, 16, 2), conv(16, 16, 2))
        self.head = nn.Conv2d(16, 3 * (5 + classes), 1)
        self.register_buffer("anchors", torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]]))

    def forward(self, x):
        y = self.head(self.look(x))
        n, _, h, w = y.shape
        y = y.view(n, 3, -1, h, w).permute(0, 1, 3, 4, 2)
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        middle = (y[..., :2].sigmoid() * 2 - 0.5 + torch.stack((columns, rows), -1)) * 8
        size = (y[..., 2:4].sigmoid() * 2) ** 2 * self.anchors[None, :, None, None]
        return torch.cat([middle - size / 2, middle + size / 2, y[..., 4:].sigmoid()], -1).flatten(1, 3)


class DeepStereo(nn.Module):
    """Estimates depth from a cost volume of two images."""

    def __init__(self, depths=6):
        super().__init__()
        self.depths, self.look = depths, nn.Conv2d(1, 6, 3, padding=1)
        self.think = nn.Sequential(nn.Conv3d(6, 4, 3, padding=1), nn.ReLU(), nn.Conv3d(4, 1, 3, padding=1))

    def forward(self, left, right):
        left, right = self.look(left), self.look(right)
        volume = left.new_zeros(left.size(0), left.size(1), self.depths, *left.shape[2:])
        for d in range(self.depths):
            volume[:, :, d, :, d:] = left[..., d:] - right[..., : right.size(-1) - d]
        likely = self.think(volume).squeeze(1).softmax(1)
        return (likely * torch.arange(self.depths).view(1, -1, 1, 1)).sum(1)


class Siamese(nn.Module):
    """Two images through one backbone, with a correlation map and a distance."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(conv(3, 8, 2), conv(8, 8))

    def forward(self, small, large):
        small, large = self.trunk(small), self.trunk(large)
        n, c, h, w = large.shape
        score = F.conv2d(large.reshape(1, n * c, h, w), small, groups=n).transpose(0, 1)
        return score, F.cosine_similarity(F.adaptive_avg_pool2d(small, 1).flatten(1), F.adaptive_avg_pool2d(large, 1).flatten(1))


class WindowAttention(nn.Module):
    """Shifted windows with relative positions, as in Swin."""

    def __init__(self, width=16, heads=2, window=4):
        super().__init__()
        self.window, self.heads = window, heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + window - 1
        self.register_buffer("index", apart[..., 0] * (2 * window - 1) + apart[..., 1])

    def forward(self, x):
        n, h, w, c = x.shape
        s = self.window
        x = torch.roll(x, (-s // 2, -s // 2), (1, 2)).view(n, h // s, s, w // s, s, c).transpose(2, 3).reshape(-1, s * s, c)
        q, k, v = self.qkv(x).view(-1, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        score = q @ k.mT / math.sqrt(q.size(-1)) + self.bias[self.index.flatten()].view(s * s, s * s, -1).permute(2, 0, 1)
        x = self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(-1, s * s, c))
        return torch.roll(x.view(n, h // s, w // s, s, s, c).transpose(2, 3).reshape(n, h, w, c), (s // 2, s // 2), (1, 2))


class VideoLstm(nn.Module):
    """A convolutional LSTM over the frames of a video."""

    def __init__(self, width=6):
        super().__init__()
        self.width, self.gates, self.head = width, nn.Conv2d(1 + width, 4 * width, 3, padding=1), nn.Conv2d(width, 1, 1)

    def forward(self, film):
        h = c = film.new_zeros(film.size(0), self.width, *film.shape[-2:])
        out = []
        for frame in film.unbind(1):
            i, f, o, g = self.gates(torch.cat([frame, h], 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            out.append(self.head(h))
        return torch.stack(out, 1)


class PointNet(nn.Module):
    """An unordered point cloud with a learned rotation."""

    def __init__(self):
        super().__init__()
        self.turn = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(16, 9))
        self.each = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1))
        self.head = nn.Linear(64, 5)

    def forward(self, points):
        turned = torch.bmm(self.turn(points).view(-1, 3, 3) + torch.eye(3), points)
        each = self.each(turned)
        return self.head(torch.cat([each, each.amax(-1, keepdim=True).expand_as(each)], 1).mT)


def picture(size=32, channels=3, n=2):
    return lambda: (torch.rand(n, channels, size, size),)


MODELS = {
    "U-Net": (UNet, picture()), "super-resolution (ESPCN)": (SuperResolution, picture(17)), "ESRGAN blocks": (ResidualDense, picture(15)),
    "CRNN for CTC": (Crnn, lambda: (torch.rand(2, 1, 16, 40),)), "spatial transformer": (SpatialTransformer, picture(20, 1)),
    "capsules": (Capsules, picture(20, 1)), "MLP-Mixer": (Mixer, picture()), "DETR": (Detr, picture()), "YOLO head": (Yolo, picture(40)),
    "stereo by a cost volume": (DeepStereo, lambda: (torch.rand(1, 1, 12, 20), torch.rand(1, 1, 12, 20))),
    "Siamese tracker": (Siamese, lambda: (torch.rand(2, 3, 16, 16), torch.rand(2, 3, 32, 32))),
    "shifted windows": (WindowAttention, lambda: (torch.randn(2, 8, 8, 16),)), "ConvLSTM": (VideoLstm, lambda: (torch.rand(2, 4, 1, 9, 9),)),
    "PointNet": (PointNet, lambda: (torch.randn(2, 3, 50),)),
}
