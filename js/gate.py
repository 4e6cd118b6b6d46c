"""Writes the model of the npm package, gate.rush: python3 js/gate.py FILE

The examples of the package's README run it. Its weights are multiples of 0.5, so that every processor computes the same
answers, and each export gives the same bytes.
"""

import sys

import torch

import rushlight


class Gate(torch.nn.Module):
    """A linear layer and a branch that depends on its answer."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.linear.weight.data = torch.tensor([[1.0, -1.0, 0.5, 0.0], [0.0, 1.0, -1.0, 0.5], [2.0, 0.0, 0.0, -1.0]])
        self.linear.bias.data = torch.tensor([0.5, -1.0, 1.0])

    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:
            return torch.relu(y)
        return -y


rushlight.export(
    torch.jit.script(Gate().eval()),
    (torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]),),
    sys.argv[1],
    output_names=["y"],
    dynamic_shapes={"x": {0: "batch"}},
)
