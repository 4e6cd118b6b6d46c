"""TorchScript by tracing, by scripting and by both, with modules and functions like those of its documentation."""

from typing import Optional

import pytest
import rushlight
import torch
from recorded_programs import FOLDER, keep, session
from torch import nn


def feature(name, **how):
    return pytest.mark.feature("TorchScript", name, **how)


class Pair(nn.Module):
    def forward(self, x, h):
        h = torch.tanh(x + h)
        return h, h * 2


class Cell(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.gate, self.linear = gate, nn.Linear(4, 4)

    def forward(self, x, h):
        h = torch.tanh(self.gate(self.linear(x)) + h)
        return h, h


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        else:
            return -x


def both_ways():
    """Inputs that take each branch of a Gate behind a Linear of ones."""
    return (torch.ones(3, 4), torch.randn(3, 4)), (-torch.ones(3, 4), torch.randn(3, 4))


def cell():
    net = Cell(torch.jit.script(Gate()))
    with torch.no_grad():
        net.linear.weight.fill_(0.25)
        net.linear.bias.zero_()
    return net


@feature("two results")
def test_a_module_that_returns_two_tensors():
    keep("ts_two", torch.jit.script(Pair()), (torch.randn(3, 4), torch.randn(3, 4)))
    keep("ts_two_traced", Pair(), (torch.randn(3, 4), torch.randn(3, 4)))


@feature("one tensor as two results")
def test_the_same_tensor_twice_is_two_equal_results():
    x, h = both_ways()[0]
    keep("ts_twice", torch.jit.script(cell()), (x, h))
    first, second = session("ts_twice")(x, h)
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@feature("a module with a Linear")
def test_a_module_with_a_linear():
    keep("ts_linear", Cell(nn.Identity()), (torch.randn(3, 4), torch.randn(3, 4)), (torch.randn(1, 4), torch.randn(4)))


@feature("a branch on a tensor's value, scripted")
def test_a_scripted_gate_takes_each_branch():
    keep("ts_gate", torch.jit.script(cell()), *both_ways())


@feature("a branch on a tensor's value, traced, with a warning in the report")
def test_a_traced_gate_is_specialized_and_the_report_says_so():
    net = Cell(Gate())
    args = torch.ones(3, 4), torch.randn(3, 4)
    report = keep("ts_gate_traced", net, args)
    line = Gate.forward.__code__.co_firstlineno + 1
    assert any(f"test_torchscript_modules.py:{line}" in w and "Python boolean" in w for w in report.warnings), report.warnings
    assert "warning" in str(report) and f"test_torchscript_modules.py:{line}" in str(report)


@feature("a scripted module inside a trace")
def test_a_scripted_gate_inside_a_trace_keeps_its_branches():
    report = keep("ts_gate_inside_trace", cell(), *both_ways())
    assert report.warnings == []


@feature("no result")
def test_a_module_that_returns_none():
    class Nothing(nn.Module):
        def forward(self, x):
            y = x + 1
            print(y.size(0))

    keep("ts_none", torch.jit.script(Nothing()), (torch.randn(3),))
    assert session("ts_none")(torch.randn(3)) is None
    assert session("ts_none").run({"x": torch.randn(3)}) == {}


class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.jit.trace(cell(), both_ways()[0])

    def forward(self, xs):
        h, y = torch.zeros(3, 4), torch.zeros(3, 4)
        for i in range(xs.size(0)):
            y, h = self.cell(xs[i], h)
        return y, h


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.loop = torch.jit.script(Rnn())

    def forward(self, xs):
        y, _ = self.loop(xs)
        return torch.relu(y)


@feature("a scripted loop around a traced cell around a scripted gate, of any length")
def test_a_scripted_loop_around_a_traced_cell_with_a_scripted_gate():
    keep("ts_loop", torch.jit.script(Rnn()), *[(torch.randn(n, 3, 4),) for n in (5, 1, 0, 12)])


@feature("the same loop in a traced module")
def test_the_loop_wrapped_in_a_module_that_is_traced():
    traced = torch.jit.trace(Wrapped(), (torch.randn(10, 3, 4),))
    keep("ts_loop_traced", traced, *[(torch.randn(n, 3, 4),) for n in (10, 1, 0, 3)])


def free(x, n: int = 2):
    for _ in range(n):
        x = x * 2
    return x


@torch.jit.script
def decorated(x: torch.Tensor, y: torch.Tensor):
    if bool(x.max() > y.max()):
        return x
    return y


@feature("functions: a decorator, a ScriptFunction, traced")
def test_free_functions_as_they_are():
    keep("ts_function", torch.jit.script(free), (torch.randn(3), 0), (torch.randn(3), 5))
    keep("ts_function_decorated", decorated, (torch.zeros(3), torch.ones(2)), (torch.ones(3), torch.zeros(2)))
    keep("ts_function_traced", torch.jit.trace(lambda x: torch.sin(x) + 1, torch.randn(3)), (torch.randn(3),))
    keep("ts_function_plain", lambda x: torch.cos(x) + 1, (torch.randn(3),))


@feature("torch.jit.script_method")
def test_script_methods():
    class Old(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(3))

        @torch.jit.script_method
        def double(self, x):
            return x * 2

        @torch.jit.script_method
        def forward(self, x):
            if bool(x.sum() > 0):
                x = self.double(x)
            return x + self.weight

    keep("ts_script_method", Old(), (torch.ones(3),), (-torch.ones(3),))


def down(x, n: int):
    return x if n == 0 else down(x + 1, n - 1)


@feature("recursion in a script", pytorch="refuses", rushlight="refuses")
def test_recursion_is_refused_when_scripted_and_unrolled_when_traced():
    with pytest.raises(RuntimeError, match="'down' is called recursively. Recursive calls are not supported"):
        torch.jit.script(down)
    keep("ts_recursion_traced", lambda x: down(x, 3), (torch.randn(2),))


@feature("scripted pack_padded_sequence and pad_packed_sequence")
@pytest.mark.parametrize("sorted_", [True, False])
def test_scripted_packed_sequences(sorted_):
    class Packs(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.in_order = nn.GRU(3, 4, batch_first=True, bidirectional=True), sorted_

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=self.in_order)
            y, h = self.gru(packed)
            out, lengths = nn.utils.rnn.pad_packed_sequence(y, batch_first=True, padding_value=-1.0)
            return out, lengths, h

    lengths = torch.tensor([5, 3, 2]) if sorted_ else torch.tensor([2, 5, 3])
    keep(f"ts_packed_{sorted_}", torch.jit.script(Packs()), (torch.rand(3, 5, 3), lengths),
         (torch.rand(2, 6, 3), torch.tensor([4, 4])), rtol=1e-4, atol=1e-5)


@torch.jit.interface
class Layer(nn.Module):
    def once(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Adds(nn.Module):
    @torch.jit.export
    def once(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.calls = nn.Parameter(torch.rand(3)), 0

    @torch.jit.export
    def once(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.weight + self.calls


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Adds(), Scales(), Adds()])
        self.named = nn.ModuleDict({"add": Adds(), "scale": Scales()})

    def forward(self, x, i: int, name: str):
        layer: Layer = self.layers[i]
        other: Layer = self.named[name]
        return other.once(layer.once(x) + layer.once(x))


@feature("a module of a ModuleList or ModuleDict chosen by an index known at run time")
def test_modules_looked_up_in_containers():
    net = torch.jit.script(Chooses())
    keep("ts_lookup", net, (torch.rand(3), 0, "add"), (torch.rand(3), 1, "scale"), (torch.rand(3), 2, "scale"))
    wanted, got = torch.jit.script(Chooses()), session("ts_lookup")
    wanted.load_state_dict(net.state_dict())
    for i, name in ((1, "scale"), (1, "add"), (0, "scale")):
        x = torch.rand(3)
        torch.testing.assert_close(got(x, i, name), wanted(x, i, name))
    keep("ts_lookup_refused", net, (torch.rand(3), 3, "add"), raises="")
    keep("ts_lookup_name_refused", net, (torch.rand(3), 0, "nothing"), raises="nothing")


class Holds(nn.Module):
    layer: Layer

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer.once(x) * 2 + self.layer.once(x)


class Shares(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.jit.script(nn.ReLU())
        self.layers = nn.ModuleList([self.act, torch.jit.script(nn.ReLU())])

    def forward(self, x):
        n = 0
        for layer in self.layers:
            if layer is self.act:
                n += 1
            if layer is not self.act:
                n += 10
        return self.layers[0](x), n, self.layers[1] is self.act


def test_modules_are_compared():
    keep("ts_modules_are_compared", torch.jit.script(Shares()), (torch.randn(3),))


@feature("an attribute of an interface, and another module put in its place")
def test_a_module_behind_an_interface_is_swapped(tmp_path):
    net = torch.jit.script(Holds(Adds()))
    keep("ts_interface", net, (torch.rand(3),))
    net.layer = torch.jit.script(Scales())
    report = keep("ts_interface_swapped", net, (torch.rand(3),))
    assert report.state == ["layer.calls"]
    net.save(str(tmp_path / "net.pt"))
    assert rushlight.export(str(tmp_path / "net.pt"), (torch.rand(3),), str(tmp_path / "net.rush")).state == ["layer.calls"]


@feature("scripted nn.MultiheadAttention")
@pytest.mark.parametrize("batch_first", [True, False])
def test_scripted_multihead_attention(batch_first):
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=batch_first)

        def forward(self, x, y, hide: bool):
            padding: Optional[torch.Tensor] = None
            if hide:
                hidden = torch.zeros(x.size(0), x.size(1), dtype=torch.bool)
                hidden[:, -1] = True
                padding = hidden
            own, weights = self.attention(x, x, x, key_padding_mask=padding)
            other, none = self.attention(x, y, y, need_weights=False)
            return own, weights, other, none

    net = torch.jit.script(Attend().eval())
    cases = [(torch.randn(3, 3, 8), torch.randn(3, 3, 8), hide) for hide in (False, True)]
    keep(f"ts_attention_{batch_first}", net, *cases, rtol=1e-4, atol=1e-5)


@feature("scripted nn.TransformerEncoderLayer and nn.TransformerEncoder")
@pytest.mark.parametrize("norm_first", [True, False])
def test_scripted_transformer_layers(norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first,
                                       activation="gelu" if norm_first else "relu").eval()
    report = keep(f"ts_encoder_layer_{norm_first}", torch.jit.script(layer), (torch.randn(2, 5, 8),),
                  (torch.randn(3, 4, 8), torch.triu(torch.ones(4, 4), 1).bool()), rtol=1e-4, atol=1e-5)
    assert not report.state  # in_proj_weight is cut into pieces, not written
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    keep(f"ts_encoder_{norm_first}", torch.jit.script(encoder), (torch.randn(2, 5, 8),), rtol=1e-4, atol=1e-5)


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True)

    def forward(self, x, hidden):
        return self.encoder(x, src_key_padding_mask=hidden)


def padding(*lengths, longest):
    return torch.arange(longest) >= torch.tensor(lengths).unsqueeze(1)


@feature("nested tensors that nn.TransformerEncoder makes of padding")
@pytest.mark.parametrize("front", ["script", "trace"])
def test_a_transformer_with_padding_takes_the_way_of_nested_tensors(front):
    net = Padded().eval()
    cases = [(torch.randn(3, 5, 8), padding(5, 2, 3, longest=5)), (torch.randn(2, 4, 8), padding(1, 3, longest=4)),
             (torch.randn(2, 4, 8), padding(4, 4, longest=4)), (torch.randn(2, 4, 8), padding(3, 0, longest=4))]
    if front == "trace":
        with torch.no_grad():
            model = torch.jit.trace(net, cases[0])
        assert "aten::_nested_tensor_from_mask" in str(model.inlined_graph)
    else:
        model = torch.jit.script(net)
        cases.append((torch.randn(1, 4, 8), torch.tensor([[False, True, False, False]])))  # which nested tensors do not support
    keep(f"ts_nested_{front}", model, *cases, eager=net, rtol=1e-4, atol=1e-5)
    assert session(f"ts_nested_{front}")(*cases[0])[1, 2:].eq(0).all()
    assert rushlight.diff(FOLDER / f"ts_nested_{front}.rush", model, cases[0]).agree


@feature("a nested tensor elsewhere", rushlight="refuses")
def test_other_nested_tensors_are_refused(tmp_path):
    class Doubles(nn.Module):
        def forward(self, x, mask):
            return torch.nested.to_padded_tensor(torch._nested_tensor_from_mask(x, mask) * 2, 0.0)

    with pytest.raises(rushlight.RushlightError, match=r"test_torchscript_modules.py:\d+: a nested tensor in aten::mul is not supported"):
        rushlight.export(torch.jit.script(Doubles()), (torch.rand(2, 3, 4), ~padding(3, 2, longest=3)), tmp_path / "model.rush")


@feature("a scripted nn.TransformerEncoderLayer in training mode, by seed")
def test_a_scripted_transformer_layer_drops_out():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
    keep("ts_encoder_layer_trained", torch.jit.script(layer), (torch.randn(2, 5, 8),), train=True, rtol=1e-4, atol=1e-5)


@feature("a spatial transformer: F.affine_grid and F.grid_sample")
@pytest.mark.parametrize("front", ["script", "export"])
def test_spatial_transformer(front):
    class Straighten(nn.Module):
        def __init__(self):
            super().__init__()
            self.locate = nn.Linear(3 * 6 * 7, 6)

        def forward(self, x):
            theta = self.locate(x.flatten(1)).view(-1, 2, 3)
            grid = nn.functional.affine_grid(theta, [x.size(0), 3, 5, 4], align_corners=False)
            smooth = nn.functional.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)
            return smooth, nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=False)

    net, x = Straighten().eval(), torch.rand(2, 3, 6, 7)
    model = torch.jit.script(net) if front == "script" else torch.export.export(net, (x,))
    report = keep(f"ts_spatial_transformer_{front}", model, (x,), (torch.rand(2, 3, 6, 7),), eager=net, rtol=1e-4, atol=1e-5)
    assert any("grid_sampler" in op for op in report.ops)
