"""FX graphs of ATen operators, as make_fx and ExportedProgram.module() give them, and state that tracing would change."""

import pytest
import rushlight
import torch
import torch.nn.functional as F
from recorded_programs import keep
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx


@pytest.mark.feature("FX", "make_fx with symbolic sizes")
def test_make_fx_with_symbolic_sizes():
    def f(x):
        return x.sum(0) / x.shape[0], F.layer_norm(x, (3,)).view(-1, x.shape[0]), x.stride(0)

    made = make_fx(f, tracing_mode="symbolic")(torch.randn(4, 3))
    report = keep("fx_make_fx", made, (torch.randn(4, 3),), (torch.randn(7, 3),), eager=f)
    assert report.route == "FX graph, scripted"


@pytest.mark.feature("FX", "make_fx of a network, with decompositions")
def test_make_fx_of_a_network():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval()
    x = torch.randn(2, 3, 6, 6)
    for table in (None, torch._decomp.core_aten_decompositions()):
        made = make_fx(lambda x: net(x), decomposition_table=table)(x)
        report = keep(f"fx_make_fx_{table is not None}", made, (x,), eager=net)
        assert report.route == "FX graph, scripted"


@pytest.mark.feature("FX", "ExportedProgram.module() and unflatten")
def test_the_module_of_a_program(out):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            return self.linear(x).sum(0) / x.shape[0], {"x": x}

    net = Net()
    program = torch.export.export(net, (torch.randn(4, 3),), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    keep("fx_program_module", program.module(), (torch.randn(4, 3),), (torch.randn(9, 3),), eager=net)
    x = torch.randn(4, 3)
    rushlight.export(torch.export.unflatten(torch.export.export(net, (x,))), (x,), out)  # jit refuses dynamic sizes
    torch.testing.assert_close(rushlight.load(out)(x), net(x))


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))

    def forward(self, x):
        self.n.add_(1)
        return x + self.n


@pytest.mark.parametrize("made", [Counts, lambda: torch.export.export(Counts(), (torch.zeros(2),)).module()])
@pytest.mark.feature("TorchScript", "tracing leaves the model's state as it was")
def test_tracing_leaves_the_state_as_it_was(out, made):
    net = made()
    rushlight.export(net, (torch.zeros(2),), out)
    assert net.n.tolist() == [0, 0]
    run = rushlight.load(out)
    assert [run(torch.zeros(2)).tolist() for _ in range(2)] == [[1, 1], [2, 2]]


def test_what_a_model_sets_anew_is_a_warning(out):
    class Sets(Counts):
        def forward(self, x):
            self.n = self.n + 1
            return x + self.n

    net = nn.Sequential(Sets())
    with pytest.warns(torch.jit.TracerWarning, match=r"the model replaces '0\.n': write into it"):
        report = rushlight.export(net, (torch.zeros(2),), out)
    assert net[0].n.tolist() == [0, 0] and any("'0.n'" in text for text in report.warnings)


def test_a_higher_order_operator_is_refused_by_name(out):
    class Net(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    x = torch.randn(3)
    with pytest.raises(rushlight.RushlightError, match="cannot export the higher-order operator cond of an FX graph"):
        rushlight.export(make_fx(Net())(x), (x,), out)
