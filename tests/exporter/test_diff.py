"""rushlight diff names the first value in which a file and its model differ."""

import dataclasses
import os
import re
import subprocess

import numpy as np
import pytest
import reader
import rushlight
import torch
from functorch.experimental.control_flow import map as map_
from test_handles import Net
from torch import nn
from torch._higher_order_ops import scan

FILE = os.path.basename(__file__)


def line_of(function, text):
    """Returns the number of a function's first line that contains the text."""
    import inspect
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def tool(*args):
    return subprocess.run(["rushlight", *map(str, args)], capture_output=True, text=True, timeout=1800)


def scripted():
    return torch.jit.script(Net().eval())


X = (torch.randn(2, 3, 8, 8),)


@pytest.mark.feature("Diff", "every operator of a run, compared with PyTorch's unfrozen graph")
def test_a_file_agrees_with_its_model(out):
    net = scripted()
    report = rushlight.export(net, X, out)
    d = rushlight.diff(out, net, X)
    assert d and d.where == "" and d.max_abs < 1e-4
    # all operators, those of loops once per iteration; an instruction without a handle has no counterpart
    assert d.compared >= 3 + 1 + 2 * 2 + 2 + 1 and d.unpaired <= sum(report.ops.values()) - len(report.ops) + 1
    assert "agree with PyTorch's" in str(d)


@pytest.mark.feature("Diff", "the first value that differs, with its Python line")
def test_other_weights_part_where_they_are_used(out):
    net = scripted()
    rushlight.export(net, X, out)
    with torch.no_grad():
        net.linear.bias[1] += 1
    d = rushlight.diff(out, net, X)
    assert not d and "rush::linear" in d.where
    assert f"test_handles.py:{line_of(Net.forward, 'self.linear(y)')}" in d.where
    assert re.search(r"result: expected \S+, got \S+", d.where)


@pytest.mark.feature("Diff", "folded and fused operators, compared at their output")
def test_a_fusion_is_compared_at_its_output(out):
    net = scripted()
    rushlight.export(net, X, out)
    with torch.no_grad():
        net.norm.running_mean[0] += 1
    d = rushlight.diff(out, net, X)
    assert not d and d.compared == 0 and "rush::conv" in d.where
    with torch.no_grad():
        net.norm.running_mean[0] -= 1
        net.norm.bias[0] -= 1e6  # relu removes this difference
        net.conv.weight[0] = 0
    again = str(out) + "2"
    rushlight.export(net, X, again)
    with torch.no_grad():
        net.norm.bias[0] -= 1e6
    assert rushlight.diff(again, net, X)


@pytest.mark.parametrize("way", [lambda net, x: net, lambda net, x: torch.jit.script(net), lambda net, x: program_of(net, (x,))])
@pytest.mark.feature("Diff", "a batch norm folded into a linear layer, compared at its output")
def test_a_linear_with_a_batch_norm_folded(out, way):
    net = nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 4), nn.BatchNorm1d(4)).eval()
    with torch.no_grad():
        net[2].running_mean.uniform_(-1, 1)
        net[5].running_var.uniform_(0.5, 2)
    x = torch.randn(3, 2, 3)
    report = rushlight.export(way(net, x), (x,), out)
    assert "aten::batch_norm" not in report.ops and report.ops["rush::linear"] == 2
    assert rushlight.diff(out, way(net, x), (x,)).compared >= 3
    with torch.no_grad():
        net[5].running_mean[1] += 1
    d = rushlight.diff(out, way(net, x), (x,))
    assert not d and d.compared >= 2 and "rush::linear" in d.where


def test_a_linear_of_rows_keeps_its_batch_norm(out):
    net = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5)).eval()  # the channels are the rows here, not the features
    net[1].running_mean.uniform_(-1, 1)
    x = torch.randn(2, 5, 4)
    report = rushlight.export(torch.jit.script(net), (x,), out)
    assert report.ops["aten::batch_norm"] == 1 and report.verified


class Rounds(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor([1.0, 1.0, 1.0, 1.0]))

    def forward(self, x, n: int):
        for i in range(n):
            x = x * self.steps[i]
        return x + 1


@pytest.mark.feature("Diff", "loops, iteration by iteration")
def test_a_loop_is_compared_iteration_by_iteration(out):
    net = torch.jit.script(Rounds())
    args = (torch.ones(3), 4)
    rushlight.export(net, args, out)
    assert rushlight.diff(out, net, args)
    net.steps[2] = 5
    d = rushlight.diff(out, net, args)
    assert not d and "iteration 2" in d.where and f"{FILE}:{line_of(Rounds.forward, 'self.steps[i]')}" in d.where


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        if bool(x.sum() > self.limit):
            return torch.relu(x)
        return torch.neg(x)


class Chooses(nn.Module):
    def forward(self, x, n: int):
        y = x
        for i in range(n):
            if i % 2 == 0:
                y = x * i
            else:
                x = y
        return x + y


@pytest.mark.feature("Diff", "branches and loops, compared at their end")
def test_branches_and_loops_are_compared_at_their_end(out):
    net, args = torch.jit.script(Chooses()), (torch.ones(3), 4)
    report = rushlight.export(net, args, out)
    assert report.ops == {"aten::add.Tensor": 1, "aten::eq.int": 1, "aten::mul.Scalar": 1, "aten::remainder.int": 1}
    d = rushlight.diff(out, net, args)  # 2 * (remainder, eq, mul, if) + 2 * (remainder, eq, if), the loop, add
    assert d and d.compared == 8 + 6 + 1 + 1 and d.unpaired == 0


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        futures = [torch.jit.fork(self.linear, x) for _ in range(2)]
        return torch.tanh(torch.jit.wait(futures[0])) + torch.jit.wait(futures[1])


@pytest.mark.feature("Diff", "forked calls")
def test_what_is_forked_is_compared_where_it_is_forked(out):
    net, args = torch.jit.script(Forks()), (torch.randn(2, 3),)
    rushlight.export(net, args, out, trace=True)
    d = rushlight.diff(out, net, args)
    assert d and d.compared >= 3 and rushlight.diff(out)
    net.linear.bias.data += 1
    d = rushlight.diff(out, net, args)
    assert not d and "rush::linear" in d.where and FILE in d.where


def test_a_program_without_operators_agrees(out):
    class Same(nn.Module):
        def forward(self, x):
            return x

    args = (torch.randn(2),)
    for net in (torch.jit.script(Same()), torch.fx.symbolic_trace(Same()), program_of(Same(), args)):
        rushlight.export(net, args, out, trace=True)
        assert rushlight.diff(out, net, args)
    rushlight.export(torch.jit.script(Same()), args, out, trace=True)
    assert rushlight.diff(out)


def test_another_branch_parts_at_its_condition(out):
    net = torch.jit.script(Branches())
    rushlight.export(net, (torch.ones(2),), out)
    net.limit.data.fill_(10)
    d = rushlight.diff(out, net, (torch.ones(2),))
    assert not d and "aten::gt" in d.where and f"{FILE}:{line_of(Branches.forward, 'self.limit')}" in d.where


class InPlace(nn.Module):
    def forward(self, x):
        y = x * 2
        z = y.view(-1)
        z.add_(1)
        y[0] = 7
        return torch.relu_(y)


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(2))

    @torch.jit.export
    def step(self, x):
        self.state += x
        return self.state * 2

    def forward(self, x):
        return self.step(x) + self.step(x)


class Structures(nn.Module):
    def forward(self, x):
        parts = torch.split(x, 1)
        d = {"a": parts[0], "b": parts[1]}
        values, indices = torch.topk(d["a"], 1)
        empty = torch.empty([3])
        empty.fill_(2.0)
        return values, indices, [d["b"], empty], str(x.size(0)), 0.5


@pytest.mark.parametrize("net, args", [
    (InPlace(), (torch.randn(2, 3),)), (Keeps(), (torch.ones(2),)), (Structures(), (torch.randn(2, 3),)),
    (nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4)), (torch.randn(2, 3),))])
def test_what_a_program_does_is_compared_as_it_does_it(out, net, args):
    net = torch.jit.script(net.eval())
    rushlight.export(net, args, out)
    d = rushlight.diff(out, net, args)
    assert d and d.compared > 0, d.where


def test_another_method(out):
    net = torch.jit.script(Keeps())
    rushlight.export(net, (torch.ones(2),), out, methods=("forward", "step"))
    assert rushlight.diff(out, net, (torch.ones(2),), method="step")


def test_functions_and_traces(out):
    def f(x):
        return torch.tanh(x) * 2

    x = (torch.randn(3),)
    rushlight.export(torch.jit.script(f), x, out)
    assert rushlight.diff(out, torch.jit.script(f), x).compared == 2
    net = nn.Linear(3, 2)
    rushlight.export(net, x, out)
    assert rushlight.diff(out, net, x).compared == 1
    net.bias.data += 1
    assert "rush::linear" in rushlight.diff(out, net, x).where


def test_an_fx_graph_names_the_users_line(out):
    class Small(nn.Module):
        def forward(self, x):
            return torch.tanh(x) * 2

    traced = torch.fx.symbolic_trace(Small())
    x = (torch.randn(3),)
    rushlight.export(traced, x, out)
    assert rushlight.diff(out, traced, x).compared == 2


def test_a_large_network(out):
    torchvision = pytest.importorskip("torchvision")
    net = torchvision.models.resnet18().eval()
    x = (torch.randn(1, 3, 96, 96),)
    rushlight.export(net, x, out, rtol=1e-3, atol=1e-3)
    d = rushlight.diff(out, net, x)
    assert d and d.compared >= 20 + 8, d.where
    with torch.no_grad():
        net.layer3[0].conv2.weight[7] *= 1.5
    d = rushlight.diff(out, net, x)
    assert not d and "rush::conv" in d.where and "torchvision/models/resnet.py" in d.where


def test_what_does_not_belong_together_is_refused(out):
    rushlight.export(scripted(), X, out)
    with pytest.raises(rushlight.RushlightError, match="belongs to another graph"):
        rushlight.diff(out, torch.jit.script(Rounds()), (torch.ones(3), 4))
    with pytest.raises(rushlight.RushlightError, match="holds no trace"):
        rushlight.diff(out)
    rushlight.export(scripted(), X, out, source=False)
    with pytest.raises(rushlight.RushlightError, match="it has no sources"):
        rushlight.diff(out, scripted(), X)
    with pytest.raises(ValueError, match="argument 'x' is missing"):
        rushlight.diff(out, scripted())


def test_a_file_of_decompositions_alone_has_nothing_to_compare_but_its_outputs(out):
    class Loss(nn.Module):
        def forward(self, x, y):
            return torch._C._nn.mse_loss(x, y)

    x = (torch.randn(3), torch.randn(3))
    model = program_of(Loss(), x)
    rushlight.export(model, x, out)
    with pytest.raises(rushlight.RushlightError, match="no operator of this file has a counterpart in PyTorch's graph: .*verify") as e:
        rushlight.diff(out, model, x)
    assert e.value.code == "bad-argument" and rushlight.load(out).verify()


# ---- The trace in a file

@pytest.mark.feature("Diff", "a trace stored in the file")
def test_a_trace_in_the_file(out, tmp_path):
    net = scripted()
    without = rushlight.export(net, X, out).file_bytes
    assert rushlight.export(net, X, out, trace=True).file_bytes > without
    file = reader.read(out)
    traced = file.tables["traced"]
    assert traced == sorted(traced, key=lambda t: (t[0], t[2])) and {t for t, _, _ in traced} == {0}
    assert {h for _, _, h in traced} <= {i.handle for i in file.methods["forward"]["instrs"]} - {0}
    d = rushlight.diff(out)
    assert d and d.compared >= 10
    assert all(v[0] < 1e-4 for v in rushlight.load(out).verify())


def damaged(path, weight):
    """Writes the file with other numbers for a weight."""
    data = open(path, "rb").read()
    at = data.find(weight.numpy().tobytes())
    assert at > 0
    other = (weight * 2).numpy().astype(np.float32).tobytes()
    open(path, "wb").write(data[:at] + other + data[at + len(other):])


def test_damaged_weights_are_found_by_the_trace(out):
    net = scripted()
    rushlight.export(net, X, out, trace=True)
    damaged(out, net.linear.weight.detach())
    d = rushlight.diff(out)
    assert not d and "rush::linear" in d.where and "test_handles.py" in d.where


def test_without_a_test_vector_no_trace(out):
    report = rushlight.export(scripted(), X, out, trace=True, test_vectors=False)
    assert any("no trace is stored" in w for w in report.warnings)


# ---- The command line

@pytest.mark.feature("Diff", "rushlight diff model.rush --torch model.pt")
def test_the_tool_compares_with_a_file(tmp_path):
    net, pt, rush = scripted(), tmp_path / "net.pt", tmp_path / "net.rush"
    net.save(pt)
    assert tool("export", pt, "-o", rush, "--input", "2x3x8x8", "--trace").returncode == 0
    same = tool("diff", rush, "--torch", pt, "--input", "x=2x3x8x8")
    assert same.returncode == 0 and "agree with PyTorch's" in same.stdout, same.stderr
    assert tool("diff", rush).returncode == 0
    with torch.no_grad():
        net.linear.weight[0] += 1
    net.save(pt)
    other = tool("diff", rush, "--torch", pt, "--input", "2x3x8x8")
    assert other.returncode == 1 and "then they part: forward, instruction" in other.stdout
    assert f"test_handles.py:{line_of(Net.forward, 'self.linear(y)')}" in other.stdout
    loose = tool("diff", rush, "--torch", pt, "--input", "2x3x8x8", "--rtol", "10", "--atol", "10")
    assert loose.returncode == 0
    missing = tool("diff", rush, "--torch", pt)
    assert missing.returncode == 2 and "needs an --input" in missing.stderr


def test_the_tool_says_where_an_exported_program_goes(tmp_path):
    program = torch.export.export(nn.Linear(3, 2), (torch.randn(1, 3),))
    torch.export.save(program, tmp_path / "net.pt2")
    answer = tool("export", tmp_path / "net.pt2", "-o", tmp_path / "net.rush")
    assert answer.returncode == 1
    assert "which only Python reads: use rushlight.export(" in answer.stderr


# ---- ExportedProgram

def program_of(net, args, **options):
    return torch.export.export(net.eval(), args, **options)


@pytest.mark.feature("Diff", "an ExportedProgram")
def test_an_exported_program(out):
    net = Branchless()
    args = (torch.randn(2, 3),)
    program = program_of(net, args)
    rushlight.export(program, args, out)
    d = rushlight.diff(out, program, args)
    assert d and d.compared >= 3, d.where
    with torch.no_grad():
        program.state_dict["second.bias"][1] += 1
    d = rushlight.diff(out, program, args)
    assert not d and "rush::linear" in d.where and d.compared >= 1
    assert f"{FILE}:{line_of(Branchless.forward, 'self.second')}" in d.where


class Branchless(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        y = torch.tanh(self.first(x)) + self.calls
        values, indices = torch.topk(self.second(y), 1)
        return {"values": values, "more": [indices, y[:, 1:]]}


@pytest.mark.parametrize("functional", [False, True])
def test_an_exported_program_that_writes(out, functional):
    args = (torch.randn(2, 3),)
    program = program_of(Branchless(), args)
    if functional:
        program = program.run_decompositions()
    rushlight.export(program, args, out, trace=True)
    d = rushlight.diff(out, program, args)
    assert d and d.compared >= 5, d.where
    assert rushlight.diff(out)


class Whiles(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, n, x):
        # The order matters: torch 2.15's export fails for a cond behind a while_loop.
        x = torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,))
        return torch._higher_order_ops.while_loop(lambda i, y: i > 0, lambda i, y: (i - 1, torch.tanh(self.linear(y))), (n, x))[1]


def test_loops_and_branches_of_an_exported_program(out):
    args = (torch.tensor(3), torch.randn(2, 3))
    program = program_of(Whiles(), args)
    rushlight.export(program, args, out)
    d = rushlight.diff(out, program, args)
    assert d and d.compared >= 3 * 4 + 2, d.where
    with torch.no_grad():
        next(iter(program.state_dict.values()))[0] += 1
    d = rushlight.diff(out, program, args)
    assert not d and "rush::linear" in d.where


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, xs, h):
        mapped = map_(lambda x, k: torch.tanh(self.linear(x)) + k, xs, h)
        return mapped, scan(lambda c, x: (torch.tanh(c) + x, c * x), h, xs, reverse=True)


@pytest.mark.feature("Diff", "map and scan, row by row")
def test_map_and_scan_of_an_exported_program(out):
    args = (torch.randn(4, 3), torch.randn(3))
    program = program_of(Rows(), args)
    rushlight.export(program, args, out, verify=torch.__version__ >= (2, 7))  # torch 2.6 does not run its scan
    d = rushlight.diff(out, program, args)
    assert d and d.compared >= 4 * 6, d.where
    with torch.no_grad():
        program.state_dict["linear.bias"][0] += 1
    d = rushlight.diff(out, program, args)
    assert not d and "rush::linear" in d.where and "iteration 0" in d.where


class ManyKinds(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("all", torch.zeros(6))
        self.register_buffer("some", self.all[2:5])

    def forward(self, x):
        self.all.add_(1)
        a, b = x.chunk(2)
        y = torch.slice_scatter(x, b * self.some, 0, 0, a.shape[0])
        return torch.max_pool2d(y[None], 2, 1), y.split(1)[1], torch.max(torch.zeros(3) + y.sum(), 0)[0]


def test_lists_scatters_and_shared_buffers(out):
    args = (torch.randn(4, 3),)
    program = program_of(ManyKinds(), args)
    rushlight.export(program, args, out)
    d = rushlight.diff(out, program, args)
    assert d and d.compared >= 8, d.where


def test_dead_nodes_are_no_part_of_the_pairing(out):
    args = (torch.randn(2, 5, 3),)
    n = torch.export.Dim("n", min=2, max=9)
    program = program_of(nn.Linear(3, 2), args, dynamic_shapes=({0: n},)).run_decompositions()
    before = len(program.graph.nodes)
    rushlight.export(program, args, out)
    program.module()
    assert rushlight.diff(out, program, args), before - len(program.graph.nodes)


@pytest.mark.parametrize("decomposed", [False, True])
def test_an_index_that_nobody_uses_may_be_another(out, decomposed):
    class Net(nn.Module):
        def forward(self, x):
            y = torch.softmax(x, 1)
            return torch.max_pool2d(y / y.sum(1, keepdim=True), 2), y.max(1)[0]

    args = (torch.ones(2, 48, 6, 6) + 1e-7 * torch.randn(2, 48, 6, 6),)
    program = program_of(Net(), args)
    if decomposed:
        program = program.run_decompositions()
    for net in (program, torch.jit.script(Net())):
        rushlight.export(net, args, out)
        d = rushlight.diff(out, net, args)
        assert d and d.compared >= 5, d.where


def test_dynamic_sizes_of_an_exported_program(out):
    class Net(nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] * x.shape[1], -1).sum(0) / x.shape[0]

    n = torch.export.Dim("n", min=2, max=9)
    program = program_of(Net(), (torch.randn(3, 2, 2),), dynamic_shapes={"x": {0: n}})
    rushlight.export(program, None, out)
    d = rushlight.diff(out, program, (torch.randn(5, 2, 2),))
    assert d and d.compared >= 4, d.where


def test_another_exported_program_is_refused(out):
    args = (torch.randn(2, 3),)
    rushlight.export(program_of(Branchless(), args), args, out)
    with pytest.raises(rushlight.RushlightError, match="belongs to another graph"):
        rushlight.diff(out, program_of(nn.Linear(3, 2), args), args)


class Draws(nn.Module):
    def forward(self, x):
        return x + torch.randn(3) * torch.rand_like(x)


def test_random_numbers_are_the_same_on_both_sides(out):
    args = (torch.randn(2, 3),)
    for net in (torch.jit.script(Draws()), program_of(Draws(), args)):
        rushlight.export(net, args, out, trace=True)
        before = torch.get_rng_state()
        assert rushlight.diff(out, net, args) and rushlight.diff(out)
        assert torch.equal(before, torch.get_rng_state())


@dataclasses.dataclass
class Inputs:
    x: torch.Tensor
    y: torch.Tensor


def test_an_input_may_be_an_object_of_its_class(out):
    if Inputs not in torch.utils._pytree.SUPPORTED_NODES:
        torch.export.register_dataclass(Inputs)

    class Net(nn.Module):
        def forward(self, given):
            return given.x * given.y

    args = (Inputs(torch.randn(3), torch.randn(3)),)
    program = program_of(Net(), args)
    rushlight.export(program, args, out)
    assert rushlight.diff(out, program, args).compared > 0


class Memory(nn.Module):
    """Views of memory that is not written yet, on the way to its elements."""

    def forward(self, x):
        made = torch.empty(x.size(0) + 1)
        made[0] = x.sum()
        made[1:] = x * 2
        rest = torch.empty_like(x).view(-1)
        rest.copy_(x)
        return made, made + 1, rest


@pytest.fixture
def open_memory_is_nan():
    """Both sides leave the memory uninitialized, so their values differ."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    before, torch.utils.deterministic.fill_uninitialized_memory = torch.utils.deterministic.fill_uninitialized_memory, True
    yield
    torch.utils.deterministic.fill_uninitialized_memory = before
    torch.use_deterministic_algorithms(False)


@pytest.mark.feature("Diff", "uninitialized memory of torch.empty, compared where it is written")
@pytest.mark.parametrize("way", [lambda net, x: torch.jit.script(net), torch.jit.trace, torch.export.export])
def test_open_memory_is_compared_where_it_is_written(out, open_memory_is_nan, way):
    x = (torch.randn(5),)
    net = way(Memory().eval(), x)
    rushlight.export(net, x, out, trace=True)
    for d in (rushlight.diff(out, net, x), rushlight.diff(out)):
        assert d and d.compared >= 3, str(d)


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.zero_point = 3

    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.1, self.zero_point, torch.quint8)
        a, b = torch.relu(q).chunk(2)
        return torch.cat([a, b]).dequantize() * 2


@pytest.mark.feature("Diff", "quantized models: integers and values between quantized layers")
@pytest.mark.parametrize("way", [lambda net, x: torch.jit.script(net), torch.jit.trace])
def test_quantized_values_are_compared_by_their_integers(out, way):
    x = (torch.randn(4, 5),)
    net = way(Fixed().eval(), x)
    rushlight.export(net, x, out, trace=True)
    for d in (rushlight.diff(out, net, x), rushlight.diff(out)):
        assert d and d.compared >= 6, str(d)
    other = Fixed().eval()
    other.zero_point = 4
    d = rushlight.diff(out, way(other, x), x)
    assert "(aten::quantize_per_tensor)" in d.where and f"{FILE}:{line_of(Fixed.forward, 'quantize_per_tensor')}" in d.where, str(d)
