"""Makes the file of methods.test.js: exported_methods.py FOLDER writes it."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402


class Mean(torch.nn.Module):
    """Keeps a sum and a number, and answers with their quotient."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2))
        self.register_buffer("rows", torch.ones(1))

    def encode(self, x):
        self.sum.copy_(x.sum(0))
        self.rows.fill_(x.size(0))
        return x.mean()

    def step(self, y):
        return {"mean": self.sum / self.rows + y, "pair": (y, y * 2)}


model = Mean()
rushlight.export({"encode": (model.encode, torch.rand(3, 2)), "step": (model.step, torch.zeros(2))},
                 path=pathlib.Path(sys.argv[1]) / "methods.rush", dynamic_shapes={"encode": {"x": {0: "n"}}})
