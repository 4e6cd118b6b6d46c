"""The model of stored/version-1.rush, a file of format version 1 as the exporter first wrote it.

The stored file stays unchanged. Export the model with today's exporter by this command:

    ./dev shell python3 tests/exporter/version_1.py OUT
"""

import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Answer(NamedTuple):
    scores: torch.Tensor
    best: int
    label: str


@torch.jit.script
class Window:
    def __init__(self, size: int):
        self.size = size
        self.kept = torch.jit.annotate(List[torch.Tensor], [])

    def push(self, x: torch.Tensor) -> torch.Tensor:
        self.kept.append(x)
        if len(self.kept) > self.size:
            self.kept = self.kept[1:]
        return torch.stack(self.kept).mean(0)


class Version1(nn.Module):
    labels: List[str]
    counts: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.depthwise = nn.Conv2d(4, 4, 3, groups=4)
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 3)
        self.gru = nn.GRU(4, 3, batch_first=True)
        self.labels = ["cat", "dog", "é"]
        self.counts = {"runs": 0}
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("cache", torch.zeros(4, 8))
        self.register_buffer("ones", torch.ones(40))
        self.register_buffer("wide", torch.arange(6, dtype=torch.float64).reshape(2, 3).t())

    def forward(self, x, ids, rounds: int = 2, scale: Optional[float] = None) -> Tuple[Answer, Dict[str, torch.Tensor], List[int]]:
        h = F.relu6(self.norm(self.conv(x)))
        h = F.max_pool2d(F.relu(self.depthwise(h)), 2).mean(dim=[2, 3]) + self.embed(ids).sum(1)
        window = Window(2)
        sizes: List[int] = []
        for i in range(rounds):
            h = window.push(torch.tanh(h) * (i + 1))
            if bool(h.sum() > 0):
                sizes.append(h.size(1) + i)
            else:
                sizes.append(-1)
        if scale is not None:
            h = h * scale
        scores = self.head(h)
        self.seen[1:] += scores.detach()[0, 1:]
        self.cache[:, 0] += scores.detach().sum()
        self.counts["runs"] += 1
        best = int(scores[0].argmax())
        parts = {"soft": F.softmax(scores, 1), "wide": self.wide * 2, "mask": scores > 0, "ids": ids.to(torch.int32), "ones": self.ones * 2}
        return Answer(scores, best, self.labels[best]), parts, sizes

    @torch.jit.export
    def sequence(self, x):
        y, last = self.gru(x)
        n = 0
        while n < 3 and bool(y.abs().max() < 0.9):
            y = y * 1.5
            n += 1
        return y, last, n

    @torch.jit.export
    def total(self) -> torch.Tensor:
        return self.seen.clone()


def export(path):
    import rushlight

    torch.manual_seed(0)
    model = torch.jit.script(Version1().eval())
    x, ids = torch.randn(2, 3, 8, 8), torch.tensor([[0, 1, 4], [2, 2, 3]])
    sequence = torch.randn(2, 3, 4)
    return rushlight.export(model, (x, ids), path, methods=("forward", "sequence", "total"),
                            dynamic_shapes={"x": {0: "batch"}, "ids": {0: "batch"}},
                            tests=[((x, ids, 3, 0.5), None), ((sequence,), None, -1.0, -1.0, "sequence")], trace=True,
                            assets={"labels.txt": "cat\ndog\né\n", "table.bin": bytes(range(256))})


if __name__ == "__main__":
    print(export(sys.argv[1]))
