"""Writes sounds and their resampled forms for audio.test.js: python3 resample_rows.py FOLDER. The definition is torchaudio's.

y[n] = sum over i of x[i] h(i / from - n / to), where h(t) = c / from sinc(c t) cos(pi c t / 12)^2 while |c t| < 6 and c = 0.99 min(from, to),
in float64. (torchaudio has the phases in float32: without a common divisor of the rates it is off its own formula by 4e-4.)
Writes ROW.x.npy, ROW.y.npy and rows.json: {name, from, to}."""

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import numpy  # noqa: E402
import torch  # noqa: E402

ROWS = [(44100, 16000), (48000, 16000), (16000, 44100), (8000, 16000), (22050, 16000), (16000, 16001), (3, 7), (96000, 8000),
        (44100, 44100)]


def resample(x, old, new):
    n = torch.arange(math.ceil(new * x.shape[-1] / old), dtype=torch.float64)
    i = torch.arange(x.shape[-1], dtype=torch.float64)
    cutoff = 0.99 * min(old, new)
    t = (i / old - n[:, None] / new) * cutoff
    weights = torch.where(t.abs() < 6, torch.sinc(t) * torch.cos(math.pi * t / 12) ** 2, 0.0) * cutoff / old
    return (x.double() @ weights.T).float() if old != new else x


def main(folder):
    generator = torch.Generator().manual_seed(0)
    table = []
    for old, new in ROWS:
        for length in (1, 1001):
            x = torch.rand(2, length, generator=generator) * 2 - 1
            name = f"{len(table)}"
            numpy.save(folder / f"{name}.x.npy", x.numpy())
            numpy.save(folder / f"{name}.y.npy", resample(x, old, new).numpy())
            table.append({"name": name, "from": old, "to": new})
    (folder / "rows.json").write_text(json.dumps(table))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
