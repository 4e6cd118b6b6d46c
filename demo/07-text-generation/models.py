"""Language models that keep their cache. A run computes and writes only the new tokens.

Both take tokens [1, n] and the position of the first one, and return the logits [1, words] after the last one. The cache is
discarded from that position on: an earlier position goes back, and 0 starts again.
"""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Cache(nn.Module):
    """Keys and values of all tokens, written in place. The first run allocates them, so that a file has none."""

    def __init__(self, heads: int, length: int, features: int):
        super().__init__()
        self.heads, self.length, self.features = heads, length, features
        self.register_buffer('keys', torch.empty(0), persistent=False)
        self.register_buffer('values', torch.empty(0), persistent=False)

    def forward(self, k: Tensor, v: Tensor, position: int):
        """Writes `k` and `v` [1, heads, tokens, features] at `position`. Returns views of all keys and values."""
        if self.keys.numel() == 0:
            self.keys = torch.zeros(1, self.heads, self.length, self.features)
            self.values = torch.zeros(1, self.heads, self.length, self.features)
        end = position + k.size(2)
        if end > self.length:
            raise ValueError(f'the cache has room for {self.length} tokens, not for {end}')
        self.keys[:, :, position:end] = k
        self.values[:, :, position:end] = v
        return self.keys[:, :, :end], self.values[:, :, :end]


def causal(tokens: int, position: int) -> Optional[Tensor]:
    """Returns the causal mask of the tokens from `position` on. A single token attends to all."""
    if tokens == 1:
        return None
    return torch.ones(tokens, position + tokens, dtype=torch.bool).tril(position)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Applies rotary positions."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int, inner: int, length: int, eps: float):
        super().__init__()
        self.features = width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width, eps), nn.RMSNorm(width, eps)
        self.q, self.k, self.v = (nn.Linear(width, n * self.features, bias=False) for n in (heads, kv_heads, kv_heads))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = nn.Linear(width, inner, False), nn.Linear(width, inner, False), nn.Linear(inner, width, False)
        self.cache = Cache(kv_heads, length, self.features)

    def forward(self, x: Tensor, position: int, cos: Tensor, sin: Tensor, mask: Optional[Tensor]) -> Tensor:
        y = self.norm1(x)
        q, k, v = [t.unflatten(-1, [-1, self.features]).transpose(1, 2) for t in [self.q(y), self.k(y), self.v(y)]]
        k, v = self.cache(rotate(k, cos, sin), v, position)
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), k, v, mask, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """A Llama with RMSNorm, rotary positions, grouped queries and SwiGLU. The head is the embedding."""

    def __init__(self, words=97, width=48, layers=2, heads=6, kv_heads=2, inner=96, length=64, base=10000.0, eps=1e-5):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, kv_heads, inner, length, eps) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width, eps), nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight
        features = width // heads
        self.register_buffer('turns', base ** -(torch.arange(0, features, 2) / features), persistent=False)  # radians per token

    def forward(self, tokens: Tensor, position: int) -> Tensor:
        n = tokens.size(1)
        angles = torch.outer(torch.arange(position, position + n), self.turns).repeat(1, 2)
        cos, sin, mask, x = angles.cos(), angles.sin(), causal(n, position), self.embed(tokens)
        for block in self.blocks:
            x = block(x, position, cos, sin, mask)
        return self.head(self.norm(x[:, -1]))


class Gpt2Block(nn.Module):
    def __init__(self, width: int, heads: int, length: int):
        super().__init__()
        self.features = width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.cache = Cache(heads, length, self.features)

    def forward(self, x: Tensor, position: int, mask: Optional[Tensor]) -> Tensor:
        q, k, v = [t.unflatten(-1, [-1, self.features]).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1)]
        k, v = self.cache(k, v, position)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate='tanh'))


class Gpt2(nn.Module):
    """A GPT-2 with LayerNorm, learned positions and GELU by tanh. The head is the embedding."""

    def __init__(self, words=97, width=48, layers=2, heads=4, length=64):
        super().__init__()
        self.embed, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Gpt2Block(width, heads, length) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Tensor, position: int) -> Tensor:
        n = tokens.size(1)
        mask, x = causal(n, position), self.embed(tokens) + self.places.weight[position:position + n]
        for block in self.blocks:
            x = block(x, position, mask)
        return self.head(self.norm(x[:, -1]))
