"""Makes the files of exported.test.js: models whose operators only the host knows, with PyTorch's answers.

python3 exported_ops.py FOLDER writes NAME.rush and NAME.json ({input: [..]}, {output: [..]})."""

import json
import pathlib
import sys
from typing import Optional, Tuple

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402

library = torch.library.Library("my_ops", "DEF")
library.define("blend(Tensor a, Tensor b, float weight=0.25, int[] shift=[0, 0]) -> Tensor")
library.define("blend.scalar(Tensor a, Scalar b) -> Tensor")
library.define("extremes(Tensor x, Tensor? mask=None) -> (Tensor, Tensor, int)")
library.define("clip_(Tensor(a!) x, float top) -> Tensor(a!)")
library.define("join(Tensor[] parts) -> Tensor")


def implement(name, function):
    library.impl(name, function, "CompositeExplicitAutograd")


implement("blend", lambda a, b, weight=0.25, shift=(0, 0): a * (1 - weight) + b * weight + sum(shift))
implement("blend.scalar", lambda a, b: a * 0.5 + b * 0.5)
implement("extremes", lambda x, mask=None: (x.min(), x.max() if mask is None else (x * mask).max(), int(x.numel())))
implement("clip_", lambda x, top: x.clamp_(max=top))
implement("join", lambda parts: torch.cat(list(parts)))


class Between(torch.nn.Module):
    """Traced, between relu and matmul."""

    def forward(self, x, w):
        return torch.ops.my_ops.blend(torch.relu(x), torch.ones_like(x)) @ w


class Script(torch.nn.Module):
    """Overloads, optional and several results, a list, and what is written in place through a view, in control flow."""

    steps: int

    def __init__(self):
        super().__init__()
        self.steps = 0
        self.register_buffer("cache", torch.zeros(4))

    def forward(self, x, n: int) -> Tuple[torch.Tensor, torch.Tensor, int]:
        self.steps += 1
        y = x.clone()
        for i in range(n):
            if i % 2 == 0:
                y = torch.ops.my_ops.blend(y, x, 0.5, [i, 1])
            else:
                y = torch.ops.my_ops.blend(y, 3)
            torch.ops.my_ops.clip_(y[:, 1], 2.0)
        mask: Optional[torch.Tensor] = None
        if n > 1:
            mask = torch.ones_like(y)
        low, high, count = torch.ops.my_ops.extremes(y, mask)
        self.cache.copy_(torch.ops.my_ops.join([y[0], y[1]])[:4])
        return y, torch.ops.my_ops.join([low.reshape(1), high.reshape(1)]), count + self.steps


def plain(value):
    return value.flatten().tolist() if isinstance(value, torch.Tensor) else value


def main(folder):
    torch.manual_seed(1)
    cases = {
        "between": (Between(), (torch.randn(3, 4), torch.randn(4, 2)), ["x", "w"], ["y"]),
        "script": (torch.jit.script(Script()), (torch.randn(2, 3), 3), ["x", "n"], ["y", "ends", "count"]),
    }
    for name, (model, args, inputs, outputs) in cases.items():
        rushlight.export(model, args, folder / f"{name}.rush", input_names=inputs, output_names=outputs,
                         allow_missing=True)
        answer = model(*args)
        answer = answer if isinstance(answer, tuple) else (answer,)
        shapes = {k: list(v.shape) for k, v in zip(inputs, args) if isinstance(v, torch.Tensor)}
        (folder / f"{name}.json").write_text(json.dumps({
            "inputs": dict(zip(inputs, map(plain, args))), "shapes": shapes,
            "outputs": dict(zip(outputs, map(plain, answer)))}))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
