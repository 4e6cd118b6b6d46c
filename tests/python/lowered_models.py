"""Modules for the tests of lower()."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        y = self.linear(x)
        if bool(y.sum() > 0):
            return torch.relu(y)
        return -y


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.count = 0

    def forward(self, x):
        self.total += x
        self.count += 1
        return self.total * self.count

    @torch.jit.export
    def clear(self):
        self.total.zero_()
        self.count = 0


class Shared(nn.Module):
    """Two attributes that share memory."""

    def __init__(self):
        super().__init__()
        self.all = torch.zeros(2, 2)
        self.row = torch.zeros(2)

    def forward(self, x):
        self.row = self.all[0]
        self.row += x
        return self.all.clone()

    @torch.jit.export
    def through_the_row(self, x):
        self.row += x
        return self.all.clone()


class Point(NamedTuple):
    xs: Tensor
    n: int


def structures(x: Tensor, parts: Dict[str, Tensor], pair: Tuple[Tensor, int], many: List[Tensor],
               scale: float = 2.0, bias: Optional[Tensor] = None):
    out = x * scale + parts["a"] + pair[0] * pair[1]
    for m in many:
        out = out + m
    if bias is not None:
        out = out + bias
    sizes: List[int] = []
    for m in many:
        sizes.append(m.dim())
    return out, {"sum": out.sum(), "x": x}, [x, out], sizes, ("text", 1.5, True)


def named(x: Tensor):
    return Point(x + 1, x.size(0))


def maybe(x: Tensor, give: bool) -> Optional[Tensor]:
    if give:
        return x
    return None


def nothing(x: Tensor) -> None:
    x.add_(1)


def number(x: Tensor) -> float:
    return float(x.sum())


def write_first(x: Tensor, y: Tensor):
    """Sees whether y is a view of x."""
    x.add_(1)
    return y * 2


def halves(x: Tensor):
    a, b = x.chunk(2)
    y = x * 2
    return a, b, y, y[0], y


def fails(x: Tensor):
    if bool(x.sum() > 0):
        raise ValueError("no positive sums here")
    return x


def busy(x: Tensor, n: int):
    for i in range(n):
        x = torch.tanh(x @ x)
        if i == n // 2:
            print("half way")
    return x


def draws(x: Tensor):
    print("drawing")
    return x + torch.rand(2)


class Encoder(nn.Module):
    """A larger model; `body` is the part that is lowered."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 8)
        self.body = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))
        self.tail = nn.Linear(8, 2)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


class TwoInputs(nn.Module):
    def forward(self, a, b):
        return {"product": a * b, "sum": a + b}
