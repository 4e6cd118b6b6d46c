"""Small programs that the exporter's tests share. They are in a file because scripting reads the source."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import nn


class Net(nn.Module):
    """Convolution, batch norm, relu, pooling and linear, which freezing folds and passes fuse."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, bias=False)
        self.fc = nn.Linear(8, 4)
        self.drop = nn.Dropout()
        with torch.no_grad():
            self.bn.running_mean.uniform_(-1, 1)
            self.bn.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        x = torch.nn.functional.relu6(self.depthwise(x))
        return self.drop(self.fc(x.mean([2, 3])))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Linear(8, 3)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Tied(nn.Module):
    """One matrix serves as embedding and as output layer, beside a view of it."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 4)
        self.out = nn.Linear(4, 11, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids):
        return self.out(self.table(ids))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.calls = 0

    def forward(self, x):
        self.total = self.total + x
        self.calls += 1
        return self.total * self.calls

    @torch.jit.export
    def reset(self):
        self.total = torch.zeros(2)
        self.calls = 0


class InPlaceState(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.add_(x)
        return self.seen + 0.0


class InPlaceReset(InPlaceState):
    @torch.jit.export
    def reset(self):
        self.seen = torch.zeros(3)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Counter()

    def forward(self, x):
        return self.inner(x) + 1


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


def named(a: torch.Tensor) -> Point:
    return Point(a + 1, a - 1)


def branch(x: torch.Tensor, flag: bool = True, n: int = 3) -> torch.Tensor:
    if flag:
        y = x + 1
    else:
        y = x * 2
    for i in range(n):
        if i == 2:
            y = y - 1
        else:
            y = y + float(i)
    return y


def nested(x: torch.Tensor, n: int) -> Tuple[torch.Tensor, int]:
    total = 0
    while total < n:
        for i in range(total + 1):
            total += i + 1
            if total > 5:
                x = x + total
    return x, total


def containers(x: torch.Tensor, ints: List[int], names: Dict[str, torch.Tensor],
               maybe: Optional[torch.Tensor] = None) -> Dict[str, List[torch.Tensor]]:
    first = names["a"]
    if maybe is not None:
        first = first + maybe
    return {"out": [x + ints[0], first]}


def nothing(x: torch.Tensor) -> None:
    x.add_(1)


def lost_fill(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """pytorch issue 95050: a fill through a view."""
    x.view(3, 2).masked_fill_(mask.unsqueeze(0), 7.0)
    return x


def out_form(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.empty_like(a)
    torch.add(a, b, out=c)
    return c * 2


def unknown_operators(x: torch.Tensor) -> torch.Tensor:
    y = x.to_mkldnn()
    z = (x + 1).to_mkldnn()
    return torch.smm(y, z)  # these have sparse layouts, which are out of scope


class WithoutGradients(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return y + 1


@torch.jit.script
class Pair:
    def __init__(self, a: torch.Tensor):
        self.a = a


def makes_an_object(x: torch.Tensor, n: int) -> torch.Tensor:
    p = Pair(x)
    if n > 0:
        p.a = x + 1
    return p.a
