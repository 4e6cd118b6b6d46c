"""Models that compute gradients in forward or use torch.func, which torch.jit.trace cannot record."""

import pytest
import rushlight
import torch
from torch import nn
from torch.fx.experimental import proxy_tensor
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask
from torch.testing import assert_close


def gradient(function, x):
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(function(x).sum(), x, create_graph=True)[0].detach()


class Forces(nn.Module):
    """Returns the gradient of an energy that a network computes."""

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
    """A function with its own gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * 3


def dense():
    return nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)


LABELS = torch.tensor([[3, 0, 1, 2], [2, -1, 3, 1]])


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
    (lambda x: torch.func.grad(lambda y: F.multilabel_margin_loss(y, LABELS))(x), (2, 4)),
    (lambda x: torch.func.grad(lambda y: F.multi_margin_loss(y, LABELS[:, 0], p=2))(x), (2, 4)),
    (lambda x: torch.func.grad(lambda y: F.ctc_loss(y.log_softmax(2), LABELS[:, 2:], torch.tensor([5, 4]), torch.tensor([2, 1])))(x), (5, 2, 4)),
    (lambda x: torch.func.grad(lambda y: torch.segment_reduce(y, "max", lengths=torch.tensor([1, 2])).sum())(x), (3, 4)),
    (lambda x: torch.func.grad(lambda y: torch.linalg.det(y).sum())(x), (2, 4, 4)),
    (lambda x: torch.func.grad(lambda y: torch.linalg.slogdet(y)[1].sum())(x), (2, 4, 4)),
    (lambda x: torch.func.grad(lambda y: torch.linalg.solve(y, y.mT + 1).sum())(x), (2, 4, 4)),
    (lambda x: torch.func.grad(lambda y: F.grid_sample(y, y.permute(0, 2, 3, 1), "bicubic").sum())(x), (1, 2, 3, 4)),
])
def test_gradients_in_forward_are_exported(model, shape, out):
    torch.manual_seed(0)
    if isinstance(model, nn.Module):
        model.eval()
    report = rushlight.export(model, torch.rand(shape), out)
    assert report.route == "traced with gradients" and report.inputs[0].startswith("x:")
    x = torch.rand(shape)
    with torch.no_grad():
        got, want = rushlight.load(out)(x), model(x)
        assert_close(got._asdict() if isinstance(want, dict) else got, want)


class Slopes(nn.Module):
    """Gradients of the input and of all weights, and what a step of descent makes of these."""

    def __init__(self, net, loss):
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            weights = list(self.net.parameters())
            slopes = torch.autograd.grad(self.loss(self.net(x)), [x, *weights])
        return [s.detach() for s in slopes] + [w.detach() - 0.1 * s.detach() for w, s in zip(weights, slopes[1:])]


CLASSES = torch.tensor([1, 0])


@pytest.mark.parametrize("net, loss, shape", [
    (nn.Sequential(nn.Conv2d(4, 6, 3, 2, 1, groups=2), nn.Tanh(), nn.Flatten()), lambda y: F.cross_entropy(y, CLASSES), (2, 4, 5, 6)),
    (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), lambda y: F.mse_loss(y, y.detach() * 0.5), (2, 4, 5, 6)),
    (nn.Sequential(nn.Conv3d(2, 3, 2), nn.GELU("tanh"), nn.AvgPool3d(2)), torch.sum, (1, 2, 4, 5, 4)),
    (nn.Sequential(nn.GroupNorm(2, 4), nn.Hardswish(), nn.AvgPool2d(3, 2, 1, ceil_mode=True)), lambda y: F.smooth_l1_loss(y, y.detach() + 1), (2, 4, 5, 6)),
    (nn.Sequential(nn.InstanceNorm2d(4, affine=True), nn.Mish(), nn.AdaptiveMaxPool2d(2)), torch.sum, (2, 4, 5, 6)),
    (nn.Sequential(nn.ReflectionPad2d(2), nn.Upsample(scale_factor=2, mode="bilinear"), nn.PReLU()), lambda y: (y * y).sum(), (2, 4, 5, 6)),
    (nn.Sequential(nn.Upsample(scale_factor=2), nn.Hardtanh(-0.5, 0.5)), lambda y: (y * y).sum(), (2, 4, 5, 6)),
    (nn.TransformerEncoderLayer(8, 2, 16, 0.0), lambda y: (y ** 3).sum(), (3, 2, 8)),
    (nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 3), nn.LogSoftmax(1)), lambda y: F.nll_loss(y, CLASSES), (2, 8)),
    (nn.utils.parametrizations.weight_norm(nn.Linear(8, 3)), lambda y: F.huber_loss(y, y.detach() + 2), (2, 8)),
    (nn.LSTMCell(8, 3), lambda y: y[0].sum(), (2, 8)),
])
def test_gradients_of_weights_are_exported(net, loss, shape, out):
    """A sum of cubes amplifies rounding, so the export judges float32's answers loosely. Answers in float64 are compared closely."""
    torch.manual_seed(0)
    rushlight.export(Slopes(net.eval(), loss), torch.rand(shape), out)
    model, x = Slopes(net.double(), loss), torch.rand(shape, dtype=torch.float64)
    rushlight.export(model, torch.rand(shape, dtype=torch.float64), out)
    for ours, theirs in zip(rushlight.load(out)(x), model(x), strict=True):
        assert_close(ours, theirs)


def test_a_graph_that_make_fx_made_of_a_gradient_is_exported(out):
    """Attention in its usual spelling, without decompositions."""
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.SiLU(), nn.MaxPool2d(2), nn.Conv2d(4, 2, 2), nn.Tanh())
    x = torch.rand(2, 3, 8, 7)
    graph = proxy_tensor.make_fx(lambda x: gradient(net, x))(x)
    written = {n.target.name() for n in graph.graph.nodes if isinstance(n.target, torch._ops.OpOverload)}
    assert {"aten::tanh_backward", "aten::max_pool2d_with_indices_backward", "aten::convolution_backward"} <= written
    rushlight.export(graph, (x,), out)
    x = torch.rand(2, 3, 8, 7)
    assert_close(rushlight.load(out)(x), gradient(net, x))


def test_gradients_take_inputs_by_name_and_other_sizes(out):
    model = Backward(*dense())
    rushlight.export(model, {"scale": torch.tensor(2.0), "x": torch.rand(3, 4)}, out, dynamic_shapes={"x": {0: "n"}})
    session, x = rushlight.load(out), torch.rand(7, 4)
    assert session.inputs() == ["x", "scale"]
    assert_close(session(x=x, scale=torch.tensor(3.0))._asdict(), model(x, torch.tensor(3.0)))


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
        assert rushlight.export(Descends(), torch.rand(3), out).route == "traced"
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
    with pytest.raises(rushlight.RushlightError, match="computes gradients .* nor make_fx .the model writes its own tensors") as e:
        rushlight.export(model, torch.rand(3, 4), out)
    assert e.value.code == "unsupported" and model.calls == 0


def test_a_tensor_inside_of_a_transform_has_no_values_to_store(out):
    kept = []
    torch.func.grad(lambda y: (kept.append(y), y.sum())[1])(torch.rand(3))
    program = torch.export.export(nn.BatchNorm1d(3).eval(), (torch.rand(2, 3),))
    program.state_dict["running_mean"] = kept[0]
    with pytest.raises(rushlight.RushlightError, match="fake tensor, which has no values"):
        rushlight.export(program, None, out)
