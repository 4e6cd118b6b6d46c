"""PyTorch's own texts in a file: `rushlight inspect --graph` and `--code`, as `.graph`, `.code` and print() show them."""

import re
import subprocess
from typing import Tuple

import pytest
import rushlight
import torch
from torch import nn


def feature(name, **how):
    return pytest.mark.feature("TorchScript", name, **how)


class Gate(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            return x
        return -x

    @torch.jit.export
    def twice(self, x):
        return self.forward(self.forward(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.linear = Gate(), nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.gate(self.linear(x)))


def inspect(path, form):
    done = subprocess.run(["rushlight", "inspect", form, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return plain(done.stdout)


def plain(text):
    """Removes the numbers of classes with the same name: PyTorch numbers them in the process, and Rushlight in the file."""
    return re.sub(r"___torch_mangle_\d+\.", "", text)


@feature("rushlight inspect --graph, --code: .graph, .code and print(module)")
def test_inspect_shows_graph_code_and_tree_of_each_submodule(tmp_path):
    torch.jit.script(Net()).save(tmp_path / "net.pt")
    loaded = torch.jit.load(tmp_path / "net.pt")
    rushlight.export(loaded, (torch.randn(2, 4),), tmp_path / "net.rush")
    code, graph = inspect(tmp_path / "net.rush", "--code"), inspect(tmp_path / "net.rush", "--graph")
    assert code.startswith(str(loaded) + "\n") and graph.startswith(str(loaded) + "\n")
    methods = {"forward": loaded.forward, "gate.forward": loaded.gate.forward, "gate.twice": loaded.gate.twice,
               "linear.forward": loaded.linear.forward}
    for name, method in methods.items():
        assert f"\n# {name}\n{plain(method.code)}" in code
        header, first = f"\n# {name}\n", plain(str(method.graph)).splitlines()[0]
        assert header + first in graph
    ours = graph.split("\n# gate.forward\n")[1].split("\n\n# ")[0]
    theirs = plain(str(loaded.gate.graph))
    assert [line.split(" # ")[0] for line in ours.strip().splitlines()] == \
        [line.split(" # ")[0] for line in theirs.strip().splitlines()]


@feature("rushlight inspect --graph, --code: .graph, .code and print(module)")
def test_inspect_says_where_a_file_holds_no_texts(tmp_path):
    rushlight.export(torch.jit.script(Net()), (torch.randn(2, 4),), tmp_path / "net.rush", source=False)
    assert "exported without source lines" in inspect(tmp_path / "net.rush", "--code")


def halved(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (input[0] / 2,)


def test_the_texts_have_the_hooks_of_the_model(tmp_path):
    net = Net()
    net.register_forward_pre_hook(halved)
    rushlight.export(torch.jit.script(net), (torch.randn(2, 4),), tmp_path / "net.rush")
    assert "torch.div(" in inspect(tmp_path / "net.rush", "--code")
    assert "aten::div(" in inspect(tmp_path / "net.rush", "--graph")
