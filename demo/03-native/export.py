"""export.py FOLDER: writes model.rush for run_c and run_cpp, lowered.pt for run_torch, and expected.json."""

import json
import pathlib
import sys

import rushlight
import torch
from torch import nn


class Scorer(nn.Module):
    """Maps four measurements to probabilities of three classes and a confidence. The branch is part of the model."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))

    def forward(self, x):
        p = torch.softmax(self.layers(x), -1)
        sure = p.amax(-1)
        if bool(x.abs().max() > 10):  # nothing that it was made for
            sure = torch.zeros_like(sure)
        return p, sure


def main(folder):
    torch.manual_seed(0)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model, x = torch.jit.script(Scorer().eval()), torch.tensor([[5.1, 3.5, 1.4, 0.2]])
    print(rushlight.export(model, (x,), folder / "model.rush", output_names=["probabilities", "sure"]))
    torch.jit.script(rushlight.lower(model, (x,))).save(str(folder / "lowered.pt"))
    cases = []
    with torch.no_grad():
        for row in ([5.1, 3.5, 1.4, 0.2], [-1.0, 0.5, 0.0, 2.0], [50.0, 1.0, 1.0, 1.0]):
            cases.append({"input": row, "output": [t.flatten().tolist() for t in model(torch.tensor([row]))]})
    (folder / "expected.json").write_text(json.dumps(cases))


if __name__ == "__main__":
    main(*sys.argv[1:])
