"""Debug handles connect instructions with the nodes of PyTorch's unfrozen graph."""

import reader
import rushlight
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.linear = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x))).mean([2, 3])
        for i in range(3):
            y = y * 0.5
        n = 0
        while n < x.size(0):
            y = torch.tanh(y)
            n += 1
        return self.linear(y)


def exported(model, path, **options):
    rushlight.export(model, (torch.randn(2, 3, 8, 8),), path, **options)
    return reader.read(path)


def handles(file):
    return {(i.op, i.handle) for i in file.methods["forward"]["instrs"] if i.op and i.op != "rush::chain"}


def nodes(graph):
    """Returns the nodes of the inlined graph in the order of their numbers."""
    for node in graph.nodes():
        if node.kind() not in ("prim::Constant", "prim::GetAttr", "prim::Uninitialized"):
            yield node.kind()
        for block in node.blocks():
            yield from nodes(block)


def test_a_handle_names_the_node_of_the_unfrozen_graph(out):
    net = torch.jit.script(Net().eval())
    file = exported(net, out)
    kinds = ["", *nodes(net.inlined_graph)]
    taken = {op: kinds[handle & 0xFFFFFFFF] for op, handle in handles(file)}
    # a fused instruction has the handle of the node whose value it computes
    assert taken.pop("rush::conv") == "aten::relu" and taken.pop("rush::linear") == "aten::linear"
    assert taken.pop("aten::mul.Scalar") == "aten::mul" and taken["aten::tanh"] == "aten::tanh"
    assert all(op.split(".")[0] == kind for op, kind in taken.items())


def test_the_rounds_of_an_unrolled_loop_share_a_handle(out):
    instrs = exported(torch.jit.script(Net().eval()), out).methods["forward"]["instrs"]
    rounds = [i.handle for i in instrs if i.op == "aten::mul.Scalar"]
    assert len(rounds) == 3 and len(set(rounds)) == 1 and rounds[0] != 0


def test_a_module_that_was_saved_and_loaded_has_the_same_handles(out, tmp_path):
    net = torch.jit.script(Net().eval())
    net.save(tmp_path / "net.pt")
    assert handles(exported(net, out)) == handles(exported(str(tmp_path / "net.pt"), out))
    traced = torch.jit.trace(Net().eval(), torch.randn(2, 3, 8, 8))
    traced.save(tmp_path / "net.pt")
    assert handles(exported(traced, out)) == handles(exported(str(tmp_path / "net.pt"), out))


def test_other_graphs_have_other_handles(out):
    class Other(Net):
        def forward(self, x):
            return self.linear(torch.relu(self.norm(self.conv(x))).mean([2, 3]))

    first = handles(exported(torch.jit.script(Net().eval()), out))
    assert not {h for _, h in first} & {h for _, h in handles(exported(torch.jit.script(Other().eval()), out))}


def test_without_sources_there_are_none(out):
    file = exported(torch.jit.script(Net().eval()), out, source=False)
    assert {h for _, h in handles(file)} == {0}
