"""A file has the meaning of the original model: before freezing, with its hooks, and with weights that the model sets itself."""

import subprocess
from typing import Optional, Tuple

import pytest
import rushlight
import torch
from torch import nn


def same(got, want):
    assert got.dtype == want.dtype
    torch.testing.assert_close(got, want)


# ---- 0-d constants


class Offsets(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.tensor(2.5, dtype=torch.float64))

    def forward(self, x):
        wide = torch.tensor(2.5, dtype=torch.float64)
        return x + wide, x - self.held, x * wide, x / self.held, wide * x, x * 0.5, x + 1


@pytest.mark.feature("TorchScript", "promotion with 0-d tensors and with numbers")
@pytest.mark.parametrize("x", [torch.arange(3), torch.tensor(1.5), torch.rand(3), torch.tensor(3), torch.tensor([True])])
@pytest.mark.parametrize("front", [torch.jit.script, lambda m: m, lambda m: torch.jit.trace(m, torch.rand(3))],
                         ids=["scripted", "eager", "traced"])
def test_a_0d_constant_is_a_tensor_where_the_model_has_one(front, x, out):
    if x.dtype == torch.bool:
        pytest.skip("bool - tensor is refused by PyTorch")
    net = front(Offsets())
    assert rushlight.export(net, x, out).verified == 1
    for got, want in zip(rushlight.load(out)(x), net(x)):
        same(got, want)


def test_a_scalar_function_keeps_dtypes(out):
    @torch.jit.script
    def f(x: torch.Tensor):
        return x + torch.tensor(2.5, dtype=torch.float64), x * 0.5
    assert rushlight.export(f, torch.arange(3), out).verified == 1
    assert [t.dtype for t in rushlight.load(out)(torch.arange(3))] == [torch.float64, torch.float32]


# ---- Hooks


class Inner(nn.Module):
    def forward(self, x, y: float) -> torch.Tensor:
        return x * y


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.weight = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x, y: float = 2.0) -> torch.Tensor:
        return self.inner(x, y) + self.weight


def doubled(self, input: Tuple[torch.Tensor, float]) -> Tuple[torch.Tensor, float]:
    return input[0] * 2, input[1] + 1


def watched(self, input: Tuple[torch.Tensor, float]) -> None:
    assert input[1] != 0


def weighed(self, input: Tuple[torch.Tensor, float]) -> Tuple[torch.Tensor, float]:
    return input[0] * self.weight, input[1]


def plus_input(self, input: Tuple[torch.Tensor, float], output: torch.Tensor) -> torch.Tensor:
    return output + input[0]


def as_pair(self, input: Tuple[torch.Tensor, float], output: torch.Tensor) -> Tuple[torch.Tensor, float]:
    return output - 1, input[1]


HOOKS = {
    "inner": ([doubled], [plus_input], [], []),
    "outer": ([], [], [doubled], [plus_input]),
    "both": ([doubled], [plus_input], [watched, doubled, weighed], [plus_input, as_pair]),
    "only before": ([], [], [weighed], []),
    "only behind": ([], [], [], [as_pair]),
}


def hooked(name):
    inner, outer = Inner(), None
    outer = Outer(inner)
    for module, before, behind in ((inner, *HOOKS[name][:2]), (outer, *HOOKS[name][2:])):
        for hook in before:
            module.register_forward_pre_hook(hook)
        for hook in behind:
            module.register_forward_hook(hook)
    return torch.jit.script(outer)


@pytest.mark.feature("TorchScript", "forward hooks and pre-hooks")
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_run(name, out, tmp_path):
    net, x = hooked(name), torch.rand(3)
    want = net(x, 3.0)
    assert rushlight.export(net, (x, 3.0), out, trace=True).verified == 1
    got = rushlight.load(out)(x, 3.0)
    torch.testing.assert_close(got, want)
    assert rushlight.diff(out, net, (x, 3.0)) and rushlight.diff(out)
    path = str(tmp_path / "hooked.pt")
    net.save(path)
    torch.testing.assert_close(torch.jit.load(path)(x, 3.0), want)
    done = subprocess.run(["rushlight", "export", path, "-o", out, "--input", "3", "--input", "3.0"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    torch.testing.assert_close(rushlight.load(out)(x, 3.0), want)


def test_other_methods_run_no_hooks(out):
    class Two(nn.Module):
        def forward(self, x):
            return x + 1

        @torch.jit.export
        def other(self, x):
            return self.forward(x) * 2

    def behind(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
        return output * 100

    net = Two()
    net.register_forward_hook(behind)
    net = torch.jit.script(net)
    x = torch.rand(3)
    rushlight.export(net, x, out, methods=("forward", "other"))
    session = rushlight.load(out)
    torch.testing.assert_close(session(x), net(x))
    torch.testing.assert_close(session.call("other", x), net.other(x))


# ---- Weights that the model sets itself


class Shared(nn.Module):
    """Gives b the weights of a, in each run."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        self.b.weight.data = self.a.weight.data * 2
        return self.b(self.a(x))


@pytest.mark.feature("TorchScript", "weights that the model sets while it is traced")
def test_weights_set_through_data_are_those_of_the_trace(out):
    net, x = Shared(), torch.rand(2, 3)
    before = {name: t.detach().clone() for name, t in net.named_parameters()}
    held = net.b.weight, net.b.weight.data_ptr()
    with pytest.warns(torch.jit.TracerWarning, match="replaces the data of 'b.weight'"):
        report = rushlight.export(net, x, out)
    assert report.verified == 1 and any("b.weight" in text for text in report.warnings)
    for name, t in net.named_parameters():  # the model is as it was
        assert torch.equal(t, before[name])
    assert (net.b.weight, net.b.weight.data_ptr()) == held
    with torch.no_grad():
        torch.testing.assert_close(rushlight.load(out)(x), net(x))
        traced = torch.jit.trace(Shared().eval(), x)
        rushlight.export(traced, x, out)
        torch.testing.assert_close(rushlight.load(out)(x), traced(x))


def test_a_weight_of_another_shape_set_through_data(out):
    class Grown(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(3))
            self.held: Optional[int] = None

        def forward(self, x):
            self.w.data = torch.cat([self.w.data[:3], torch.ones(1)])
            return x * self.w

    net = Grown()
    with pytest.warns(torch.jit.TracerWarning, match="replaces the data of 'w'"):
        assert rushlight.export(net, torch.rand(4), out).verified == 1
    assert net.w.shape == (3,)
