"""Writes files that slim.test.js slims the runtime for: python3 slim_models.py FOLDER"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import torchvision  # noqa: E402
import rushlight  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])


class Texts(torch.nn.Module):
    """Operators that no picture needs: control flow, strings, integers, random numbers."""

    def forward(self, x: torch.Tensor, words: list[str]):
        counts: dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        order = torch.argsort(x, dim=-1, descending=True)
        y = torch.cumsum(torch.gather(x, -1, order), -1)
        if len(counts) > 1:
            y = torch.softmax(y, -1) + torch.rand(3) * 0
        y.add_(1)
        return y, counts


torch.manual_seed(0)
rushlight.export(torchvision.models.mobilenet_v2(weights=None).eval(), (torch.randn(1, 3, 96, 96),),
                 str(FOLDER / "mobilenet.rush"), output_names=["logits"], dynamic_shapes={"x": {0: "n", 2: "h", 3: "w"}})
rushlight.export(torch.jit.script(Texts()), (torch.randn(2, 3), ["a", "b", "a"]), str(FOLDER / "texts.rush"))
