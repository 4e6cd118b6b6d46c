"""Exports, compares and runs models with the installed package beside PyTorch.

./dev wheels copies this file into the home of a bare root, which has PyTorch and no compiler, and runs it there.
"""

import subprocess
import sys

import rushlight

assert "torch" not in sys.modules

import torch  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x)), torch.nn.functional.smooth_l1_loss(x, x * 2)


torch.manual_seed(0)
net, x = Net().eval(), torch.rand(2, 4)
scripted = torch.jit.script(net)
for model, route in (net, "traced"), (scripted, "TorchScript"), (torch.export.export(net, (x,)), "torch.export"):
    report = rushlight.export(model, (x,), "net.rush")
    assert (report.route, report.verified) == (route, 1), report
    session = rushlight.load("net.rush")
    with torch.no_grad():
        for mine, pytorchs in zip(session(x), net(x)):
            torch.testing.assert_close(mine, pytorchs)
    assert rushlight.diff("net.rush", model, (x,))

scripted.save("net.pt")
for command in (["export", "net.pt", "-o", "tool.rush", "--input", "2x4"], ["verify", "tool.rush"],
                ["diff", "tool.rush", "--torch", "net.pt", "--input", "2x4"], ["run", "tool.rush", "--input", "2x4"]):
    subprocess.run([sys.executable, "-m", "rushlight", *command], check=True, stdout=subprocess.DEVNULL)
print("all checks passed with torch", torch.__version__)
