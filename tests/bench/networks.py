"""Networks of the benchmark that no demo has: torchvision's and simple ones, all with fixed random weights.

Each function returns (module, {name: input}). Norms have the statistics of their inputs, so that values stay near 1. There
are then no denormals and no infinities, and a run takes as long as with trained weights.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def settled(model, x):
    """Returns `model` in evaluation mode, with the statistics of x in its batch norms."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    before = [norm.momentum for norm in norms]
    model.eval()
    for norm in norms:
        norm.momentum = None  # the cumulative mean
        norm.reset_running_stats()
        norm.train()
    with torch.no_grad():
        model(x)
    for norm, momentum in zip(norms, before):
        norm.momentum = momentum
    return model.eval()


def torchvision(name, size=224):
    def make():
        from torchvision import models
        torch.manual_seed(1)
        model = settled(models.get_model(name, weights=None), torch.randn(4, 3, size, size))
        last = [m for m in model.modules() if isinstance(m, nn.Linear)][-1]
        nn.init.normal_(last.weight, std=last.in_features ** -0.5)  # ViT's is 0
        image = torch.randn(1, 3, size, size)
        with torch.no_grad():  # logits of size 1, whose rounding errors in float32 are below atol
            last.weight /= model(image).std()
        return model, {'image': image}
    return make


def twice(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """U-Net (Ronneberger et al. 2015): four levels, padded, with batch norm. It gives a mask of the image's size."""

    def __init__(self, channels=(16, 32, 64, 128)):
        super().__init__()
        pairs = list(zip(channels, channels[1:]))
        self.first = twice(3, channels[0])
        self.down = nn.ModuleList(twice(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs))
        self.merge = nn.ModuleList(twice(2 * a, a) for a, _ in reversed(pairs))
        self.head = nn.Conv2d(channels[0], 1, 1)

    def forward(self, x):
        levels = [self.first(x)]
        for layer in self.down:
            levels.append(layer(F.max_pool2d(levels[-1], 2)))
        x = levels.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([up(x), levels.pop()], 1))
        return self.head(x)


def unet(pixels=256):
    torch.manual_seed(1)
    return settled(UNet(), torch.randn(2, 3, 256, 256)), {'image': torch.randn(1, 3, pixels, pixels)}


class Block(nn.Module):
    """A layer of GPT-2 (Radford et al. 2019) that takes the keys and values of the previous tokens."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, keys, values):
        n, t, width = x.shape
        q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(width, -1))
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        weights = (q @ keys.transpose(-1, -2) / math.sqrt(q.size(-1))).softmax(-1)
        x = x + self.out((weights @ values).transpose(1, 2).reshape(n, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate='tanh')), keys, values


class Step(nn.Module):
    """One token of GPT-2 small: returns its logits, and the extended cache [layer, key or value, batch, head, token, 64]."""

    def __init__(self, layers=12, width=768, heads=12, words=50257, places=1024):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.01)
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, token, place, *cache):
        x, longer = self.words(token) + self.places(place), []
        for i, layer in enumerate(self.layers):
            x, keys, values = layer(x, cache[2 * i], cache[2 * i + 1])
            longer += [keys, values]
        return F.linear(self.norm(x), self.words.weight), *longer


def gpt2_step():
    torch.manual_seed(1)
    cache = {f'{what}{i}': torch.randn(1, 12, 128, 64) / 2 for i in range(12) for what in ('keys', 'values')}
    return Step().eval(), {'token': torch.randint(0, 50257, (1, 1)), 'place': torch.full((1, 1), 128), **cache}


class Lstm(nn.Module):
    """nn.LSTM without the attribute writes in each call, which torch.export refuses."""

    def __init__(self, size=256, layers=2):
        super().__init__()
        self.layers = layers
        self.lstm = nn.LSTM(size, size, layers, batch_first=True)

    def forward(self, x):
        start = x.new_zeros(self.layers, 1, x.size(2))
        return torch.lstm(x, (start, start), list(self.lstm.parameters()), True, self.layers, 0.0, False, False, True)[0]


def lstm():
    torch.manual_seed(1)
    return Lstm().eval(), {'x': torch.randn(1, 100, 256)}


def mlp():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).eval(), {'x': torch.randn(1, 784)}


class Pointwise(nn.Module):
    """200 operators with almost no work, which measure the overhead of an operator."""

    def __init__(self):
        super().__init__()
        self.register_buffer('c', torch.randn(200, 64) / 10 + 1)

    def forward(self, x):
        for i in range(200):
            c = self.c[i]
            x = (x + c, x * c, torch.relu(x), x - c, torch.abs(x))[i % 5]
        return x


def pointwise():
    torch.manual_seed(1)
    return Pointwise().eval(), {'x': torch.randn(64)}
