"""Exports, compares and runs models with the installed package beside PyTorch.

./dev wheels copies this file into the home of a bare root, which has PyTorch and no compiler, and runs it there.
"""

import copy
import subprocess
import sys
import time
import warnings

import rushlight

assert "torch" not in sys.modules

import torch  # noqa: E402
from torch import nn  # noqa: E402

warnings.filterwarnings("ignore")  # newer PyTorch warns of TorchScript


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x)), nn.functional.smooth_l1_loss(x, x * 2)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3))).softmax(-1)


class Program(nn.Module):
    """A program with a loop, a branch, a list, a dict, a write through a view and state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor, rounds: int):
        self.calls += 1
        rows: list[torch.Tensor] = []
        for i in range(rounds):
            y = x * (i + 1)
            if bool(y.sum() > 2.5):
                y[0] = -1.0
            rows.append(y)
        return {"all": torch.stack(rows), "calls": self.calls * 1}


def close(mine, pytorchs):
    torch.testing.assert_close(mine, pytorchs, rtol=1e-4, atol=1e-5)


def readme():
    begin = time.monotonic()
    report = rushlight.export(
        nn.Sequential(nn.Linear(4, 3), nn.ReLU()), (torch.randn(2, 4),), "model.rush",
        output_names=["y"], dynamic_shapes={"input": {0: "batch"}})
    print(report)
    assert rushlight.load("model.rush")(torch.ones(5, 4)).shape == (5, 3)
    print(f"README's example took {time.monotonic() - begin:.1f} s")


def routes(model, args):
    """Exports a model in the three ways, and compares the file with the model."""
    exported = torch.export.export(copy.deepcopy(model), args, strict=True)  # an LSTM keeps fake tensors, and needs strict
    for given, route in (model, "traced"), (torch.jit.script(model), "TorchScript"), (exported, "torch.export"):
        report = rushlight.export(given, args, "routes.rush")
        assert (report.route, report.verified) == (route, 1), report
        assert rushlight.diff("routes.rush", given, args)
        assert rushlight.load("routes.rush").verify()
        with torch.no_grad():
            close(rushlight.load("routes.rush")(*args), model(*args))
    torch.export.save(exported, "routes.pt2")
    assert rushlight.export("routes.pt2", args, "routes.rush").route == "torch.export"


def program():
    scripted = torch.jit.script(Program())
    x = torch.tensor([[0.5, 0.25], [1.0, -0.5]])
    report = rushlight.export(scripted, (x, 4), "program.rush")
    assert report.state == ["calls"] and report.verified == 1, report
    session, fresh = rushlight.load("program.rush"), Program()
    for rounds in 4, 2:
        close(session(x, rounds), fresh(x, rounds))


def quantized(model, x):
    report = rushlight.export(model, (x,), "small.rush", quantize="int8")
    assert report.quantized["layers"] > 0 and report.quantized["cosine"] > 0.99, report
    assert rushlight.load("small.rush").verify()


def tool():
    torch.jit.script(Net().eval()).save("net.pt")
    for command in (["export", "net.pt", "-o", "tool.rush", "--input", "2x4"], ["verify", "tool.rush"], ["inspect", "tool.rush"],
                    ["diff", "tool.rush", "--torch", "net.pt", "--input", "2x4"], ["run", "tool.rush", "--input", "2x4"]):
        subprocess.run([sys.executable, "-m", "rushlight", *command], check=True, stdout=subprocess.DEVNULL)


def lowered():
    """lower() needs a compiler and a checkout, and says so."""
    try:
        rushlight.lower(Net().eval(), (torch.rand(2, 4),))
    except RuntimeError as error:
        assert "in a checkout, with CMake and a C++ compiler" in str(error), error
    else:
        raise AssertionError("lower() must say what it needs")


torch.manual_seed(0)
readme()
routes(Net().eval(), (torch.rand(2, 4),))
routes(Convolutions().eval(), (torch.rand(1, 3, 16, 16),))
routes(nn.LSTM(4, 5, batch_first=True).eval(), (torch.rand(2, 3, 4),))
routes(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (torch.rand(2, 3, 8),))
program()
quantized(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)).eval(), torch.rand(4, 64))
tool()
lowered()
print("all checks passed with torch", torch.__version__)
