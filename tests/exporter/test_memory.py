"""The memory that an export takes beside the model."""

import pathlib

import pytest
import rushlight
import torch
from rushlight.base.errors import RushlightError
from torch import nn

# What code and small values take.
SLACK = 20 << 20


def resident(name):
    """Returns a size of this process in bytes: VmRSS now, VmHWM at its highest."""
    line, = (line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) << 10


class Net(nn.Module):
    """Six layers of 9 MiB in float32, and an embedding of 12 MiB: an export looks for writes from 64 MiB on."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(2048, 1536)
        self.layers = nn.ModuleList(nn.Linear(1536, 1536) for _ in range(6))

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x.mean(1)


@pytest.mark.parametrize("route, quantize", [("traced", ""), ("traced", "int8"), ("torch.export", "")])
def test_an_export_takes_little_more_than_the_weights_again(route, quantize, out):
    model, args = Net().eval(), (torch.tensor([[1, 2, 3]]),)
    weights = sum(p.nbytes for p in model.parameters())
    given = torch.export.export(model, args) if route == "torch.export" else model
    rushlight.export(nn.Linear(4, 4), (torch.rand(2, 4),), out)  # loads all code
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # sets VmHWM to VmRSS
    before = resident("VmRSS")
    report = rushlight.export(given, args, out, quantize=quantize)
    peak = resident("VmHWM") - before
    assert report.route == route and report.verified
    assert peak < 1.5 * weights + SLACK, f"{peak / weights:.2f} times the weights"


class Writes(Net):
    """Writes a large weight, for all inputs or for long ones."""

    def __init__(self, least=0):
        super().__init__()
        self.least = least

    def forward(self, ids):
        if ids.shape[1] > self.least:
            self.layers[0].weight.mul_(0.5)
        return super().forward(ids)


def test_a_model_that_writes_its_large_weights_is_left_as_it_was(out):
    model = Writes().eval()
    before = model.layers[0].weight.detach().clone()
    args = (torch.tensor([[1, 2, 3]]),)
    with torch.no_grad():
        report = rushlight.export(model, args, out)
    assert report.state == ["layers.0.weight"] and torch.equal(model.layers[0].weight, before)
    session = rushlight.load(out)
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(session(*args), model(*args), rtol=1e-4, atol=1e-5)


def test_a_model_that_writes_its_large_weights_for_some_inputs_alone(out):
    with torch.no_grad(), pytest.raises(RushlightError, match="the model wrote its weight layers.0.weight for some inputs"):
        rushlight.export(Writes(least=3).eval(), (torch.tensor([[1, 2, 3]]),), out, test_inputs=[(torch.tensor([[1, 2, 3, 4]]),)])
