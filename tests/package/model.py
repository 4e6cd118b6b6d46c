"""Makes the models of the projects here: python3 model.py FOLDER writes digits.rush, with PyTorch's answers in it,
scale.rush, whose operator my_ops::scale JavaScript has to bring, and gate.rush, that of the guide's pages."""

import pathlib
import re
import runpy
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(4))
        self.classes = torch.nn.Linear(8 * 7 * 7, 10)

    def forward(self, x):
        return torch.softmax(self.classes(self.features(x).flatten(1)), 1)


class Scale(torch.nn.Module):
    def forward(self, x):
        return torch.ops.my_ops.scale(x, 3.0)


library = torch.library.Library("my_ops", "DEF")
library.define("scale(Tensor x, float by) -> Tensor")
library.impl("scale", lambda x, by: x * by, "CompositeExplicitAutograd")

folder = pathlib.Path(sys.argv[1])
torch.manual_seed(0)
rushlight.export(Digits().eval(), (torch.randn(2, 1, 28, 28),), str(folder / "digits.rush"),
                 output_names=["y"], dynamic_shapes={"x": {0: "n"}})
rushlight.export(Scale(), (torch.ones(3),), str(folder / "scale.rush"), output_names=["y"], allow_missing=True)

# The guide's first page says how gate.rush is made.
guide = pathlib.Path(__file__).resolve().parents[2] / "web/guide/index.md"
example = re.search(r"^```python\n(.*?)^```", guide.read_text(encoding="utf-8"), re.M | re.S)[1]
(folder / "gate.py").write_text(example.replace('"gate.rush"', repr(str(folder / "gate.rush"))), encoding="utf-8")
sys.argv = [str(folder / "gate.py")]
runpy.run_path(sys.argv[0])
