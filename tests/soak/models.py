"""Makes the models of the soak: models.py FOLDER writes each as FOLDER/NAME.rush. Their inputs are in workload.js."""

import pathlib
import sys
from typing import List, Tuple

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402
from torch import nn  # noqa: E402


class State(nn.Module):
    """An LSTM that keeps its hidden state between runs."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.register_buffer("h", torch.zeros(1, 1, 32))
        self.register_buffer("c", torch.zeros(1, 1, 32))

    def forward(self, x):
        y, (h, c) = self.lstm(x, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return y


class Cache(nn.Module):
    """A cache of keys and values that grows with each run."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(32, 96)
        self.keys = torch.zeros(1, 0, 32)
        self.values = torch.zeros(1, 0, 32)

    def forward(self, x):
        q, k, v = self.project(x).chunk(3, -1)
        self.keys = torch.cat([self.keys, k], 1)
        self.values = torch.cat([self.values, v], 1)
        return nn.functional.scaled_dot_product_attention(q, self.keys, self.values)


class Control(nn.Module):
    """Loops, branches, lists of tensors and of tuples, and an error for n below 0."""

    def forward(self, x, n: int) -> Tuple[torch.Tensor, List[torch.Tensor]]:
        if n < 0:
            raise ValueError("n is negative")
        found: List[torch.Tensor] = []
        pairs: List[Tuple[int, torch.Tensor]] = []
        for i in range(n):
            part = x * i
            if i % 3 == 0:
                found.append(part.sum(0))
            else:
                pairs.append((i, part.cumsum(0)))
        total = torch.zeros_like(x)
        for i, part in pairs:
            total = total + part / i
        return total, found


class Long(nn.Module):
    """Runs a given number of products. The soak stops it before the end."""

    def forward(self, x, n: int):
        y = x
        for _ in range(n):
            y = torch.tanh(y @ x)
        return y


def conv(channels):
    return nn.Sequential(nn.Conv2d(3, channels, 3, 2, 1), nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.Conv2d(channels, channels, 3, padding=1, groups=channels), nn.Conv2d(channels, 2 * channels, 1), nn.Hardswish(),
                         nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * channels, 10))


def main(folder):
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    mlp = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10), nn.Softmax(-1))
    script = torch.jit.script
    for name, model, args in (("mlp", mlp, torch.randn(3, 64)), ("conv", conv(16), torch.randn(1, 3, 64, 64)),
                              ("state", script(State()), torch.randn(1, 5, 16)), ("cache", script(Cache()), torch.randn(1, 2, 32)),
                              ("control", script(Control()), (torch.randn(4, 8), 7)), ("long", script(Long()), (torch.randn(64, 64) / 8, 3))):
        rushlight.export(model.eval(), args, folder / f"{name}.rush", input_names=["x", "n"][:len(args) if isinstance(args, tuple) else 1])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
