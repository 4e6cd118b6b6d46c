"""Models that take gradients in forward, or use torch.func, which torch.jit.trace cannot follow."""

import pytest
import rushlight
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask
from torch.testing import assert_close


def gradient(function, x):
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x, create_graph=True)[0].detach()


class Forces(nn.Module):
    """Of an energy that a network gives."""

    def __init__(self, *layers):
        super().__init__()
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return gradient(self.net, x)


class Backward(Forces):
    def forward(self, x, scale=None):
        with torch.enable_grad():
            x = x.clone().requires_grad_()
            energy = self.net(x)
            (energy.sum() * (1 if scale is None else scale)).backward()
            return {"energy": energy.detach(), "forces": -x.grad}


class Rounds(torch.autograd.Function):
    """With a gradient of its own."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * 3


def dense():
    return nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)


@pytest.mark.parametrize("model, shape", [
    (Forces(*dense()), (3, 4)),
    (Forces(*dense()).requires_grad_(False), (3, 4)),
    (Backward(*dense()), (3, 4)),
    (Forces(nn.LayerNorm(4), nn.Linear(4, 4), nn.GELU(), nn.Softmax(-1), nn.Linear(4, 1)), (3, 4)),
    (Forces(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.SiLU(), nn.ConvTranspose2d(4, 2, 2, 2), nn.Softplus()), (2, 3, 8, 7)),
    (Forces(nn.Conv1d(4, 4, 3, 2, dilation=2, groups=2), nn.ELU()), (2, 4, 12)),
    (Forces(nn.MaxPool2d(2), nn.Tanh()), (2, 3, 6, 7)),
    (Forces(nn.AvgPool2d(3, 2, 1), nn.Tanh()), (2, 3, 6, 7)),
    (Forces(nn.AvgPool2d(3, 2, 1, count_include_pad=False), nn.Tanh()), (3, 6, 7)),
    (Forces(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), nn.Linear(8, 2), nn.Sigmoid()), (2, 5, 8)),
    (lambda x: gradient(lambda y: Rounds.apply(y * 4) * y, x), (3, 4)),
    (lambda x: torch.func.grad(lambda y: F.linear(y, y).sin().sum())(x), (3, 4)),
    (lambda x: torch.func.vmap(torch.func.jacrev(torch.tanh))(x), (3, 4)),
    (lambda x: torch.func.hessian(lambda y: (y ** 3).sum())(x), (3,)),
    (lambda x: x + create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 256, 256, device="cpu").kv_num_blocks, (2,)),
    (lambda x: torch.autograd.functional.jacobian(lambda y: y ** 2, x), (3,)),
])
def test_gradients_in_forward_are_exported(model, shape, out):
    torch.manual_seed(0)
    if isinstance(model, nn.Module):
        model.eval()
    report = rushlight.export(model, torch.rand(shape), out)
    assert report.way == "traced with gradients" and report.inputs[0].startswith("x:")
    x = torch.rand(shape)
    with torch.no_grad():
        assert_close(rushlight.load(out)(x), model(x))


def test_gradients_take_inputs_by_name_and_other_sizes(out):
    model = Backward(*dense())
    rushlight.export(model, {"scale": torch.tensor(2.0), "x": torch.rand(3, 4)}, out, dynamic_shapes={"x": {0: "n"}})
    session, x = rushlight.load(out), torch.rand(7, 4)
    assert session.inputs() == ["x", "scale"]
    assert_close(session(x=x, scale=torch.tensor(3.0)), model(x, torch.tensor(3.0)))


def test_where_the_gradient_was_taken_is_told(out):
    model = Forces(*dense())
    rushlight.export(model, torch.rand(3, 4), out)
    assert f"test_gradients.py:{gradient.__code__.co_firstlineno + 3}" in rushlight.describe(out)


class Descends(nn.Module):
    def forward(self, x):
        for _ in range(9):
            if x.sum() > 100:
                break
            x = x - 0.1 * gradient(lambda y: y ** 2, x)
        return x


def test_what_make_fx_cannot_follow_is_traced_as_ever(out):
    with pytest.warns(torch.jit.TracerWarning, match="Converting a tensor to a Python boolean"):
        assert rushlight.export(Descends(), torch.rand(3), out).way == "traced"
    assert_close(rushlight.load(out)(torch.ones(3)), Descends()(torch.ones(3)))


def test_what_neither_can_follow_is_refused(out):
    class Counts(Forces):
        def __init__(self, *layers):
            super().__init__(*layers)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return super().forward(x) * self.calls

    model = Counts(*dense())
    with pytest.raises(rushlight.RushlightError, match="takes gradients in forward, .* nor make_fx .the model writes its own tensors") as e:
        rushlight.export(model, torch.rand(3, 4), out)
    assert e.value.code == "unsupported" and model.calls == 0


def test_a_tensor_inside_of_a_transform_has_no_values_to_store(out):
    kept = []
    torch.func.grad(lambda y: (kept.append(y), y.sum())[1])(torch.rand(3))
    program = torch.export.export(nn.BatchNorm1d(3).eval(), (torch.rand(2, 3),))
    program.state_dict["running_mean"] = kept[0]
    with pytest.raises(rushlight.RushlightError, match="fake tensor, which has no values"):
        rushlight.export(program, None, out)
