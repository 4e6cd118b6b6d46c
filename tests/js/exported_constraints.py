"""Makes the files of constraints.test.js: exported_constraints.py FOLDER writes them."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402


class Rows(torch.nn.Module):
    def forward(self, x, y):
        return x * y[:, None]


args = (torch.rand(4, 6), torch.rand(4))
n = torch.export.Dim("n", min=3, max=8)
folder = pathlib.Path(sys.argv[1])
rushlight.export(Rows(), args, folder / "traced.rush", dynamic_shapes={"x": {0: n, 1: 6}, "y": {0: n}})
program = torch.export.export(Rows(), args, dynamic_shapes={"x": {0: n}, "y": {0: n}})
rushlight.export(program, None, folder / "program.rush", dynamic_shapes={"x": {0: "n"}})
