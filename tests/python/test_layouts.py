"""Layouts as PyTorch has them: models that take apart, or see in another shape, what convolutions and pools gave."""

import pytest
import rushlight
import torch
import torch.nn.functional as F
from recorded_programs import keep
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx


class LeNet(nn.Module):
    """The network of the tutorial, with either of its two ways to flatten."""

    def __init__(self, by_batch: bool):
        super().__init__()
        self.by_batch = by_batch
        self.c1, self.c2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.f1, self.f2, self.f3 = nn.Linear(16 * 5 * 5, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        x = x.view(x.size(0), -1) if self.by_batch else x.view(-1, 16 * 5 * 5)
        return self.f3(F.relu(self.f2(F.relu(self.f1(x)))))


class Fire(nn.Module):
    """SqueezeNet's block and its last layers."""

    def __init__(self):
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 5, 1), nn.Conv2d(4, 5, 3, padding=1)
        self.pool = nn.AvgPool2d(4)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        x = torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)
        return F.max_pool2d(x, 3, 2, ceil_mode=True), self.pool(x).view(x.size(0), -1)


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, (1, 7), padding=(0, 3)), nn.Conv2d(3, 4, (7, 1), padding=(3, 0))
        self.norm = nn.BatchNorm2d(12)

    def forward(self, x):
        y = torch.cat([self.a(F.avg_pool2d(x, 3, 1, 1)), self.b(x), self.c(x)], 1)
        y = F.relu(self.norm(y), inplace=True)
        return F.dropout(y, training=self.training).view(y.size(0), -1), F.adaptive_avg_pool2d(y, (1, 1)).view(y.size(0), -1)


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.down, self.up = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 2), nn.Linear(2, 8)

    def forward(self, x):
        x = self.conv(x)
        b, c, _, _ = x.size()
        gate = torch.sigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1).view(b, c))))).view(b, c, 1, 1)
        return (x * gate.expand_as(x)).view(b, -1)


class Shuffles(nn.Module):
    """Channels as ShuffleNet does it, pixels by view and permute."""

    def __init__(self):
        super().__init__()
        self.conv, self.depthwise = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, groups=8)

    def forward(self, x):
        x = self.conv(x)
        b, c, h, w = x.size()
        y = x.view(b, 2, c // 2, h, w)
        y = torch.transpose(y, 1, 2).contiguous().view(b, -1, h, w)
        y = self.depthwise(y)
        left, right = y.chunk(2, dim=1)
        pixels = y.view(b, 2, 2, 2, h, w).permute(0, 1, 4, 2, 5, 3).contiguous().view(b, 2, 2 * h, 2 * w)
        return torch.cat((left, right * left), 1), pixels, y.view(-1)[3:7]


class NonLocal(nn.Module):
    def __init__(self):
        super().__init__()
        self.theta, self.phi, self.g, self.out = (nn.Conv2d(4, 2, 1), nn.Conv2d(4, 2, 1), nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1))

    def forward(self, x):
        b = x.size(0)
        theta = self.theta(x).view(b, 2, -1).permute(0, 2, 1)
        phi, g = self.phi(x).view(b, 2, -1), self.g(x).view(b, 2, -1).permute(0, 2, 1)
        y = torch.matmul(F.softmax(torch.matmul(theta, phi), dim=-1), g).permute(0, 2, 1).contiguous()
        return x + self.out(y.view(b, 2, x.size(2), x.size(3)))


class StyleConv(nn.Module):
    """A modulated convolution: the batch becomes groups."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, 6, 4, 3, 3) / 6)
        self.before, self.style = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(5, 4)

    def forward(self, x, style):
        x = F.interpolate(self.before(x), scale_factor=2.0, mode="bilinear", align_corners=False)
        b, c, h, w = x.shape
        weight = self.weight * self.style(style).view(b, 1, c, 1, 1)
        weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8).view(b, 6, 1, 1, 1)
        y = F.conv2d(x.view(1, b * c, h, w), weight.view(b * 6, c, 3, 3), padding=1, groups=b)
        return y.view(b, 6, y.shape[2], y.shape[3])


IMAGE = torch.rand(2, 3, 6, 8)
MODELS = {
    "lenet": (LeNet(False), (torch.rand(2, 1, 32, 32),)),
    "lenet_by_batch": (LeNet(True), (torch.rand(2, 1, 32, 32),)),
    "fire": (Fire(), (IMAGE,)),
    "inception": (Inception(), (IMAGE,)),
    "squeeze_excite": (SqueezeExcite(), (IMAGE,)),
    "shuffles": (Shuffles(), (IMAGE,)),
    "non_local": (NonLocal(), (torch.rand(2, 4, 5, 3),)),
    "style_conv": (StyleConv(), (IMAGE, torch.rand(2, 5))),
}


@pytest.mark.feature("TorchScript", "view() of the results of convolutions and pools")
@pytest.mark.parametrize("how", ["trace", "script"])
@pytest.mark.parametrize("name", MODELS)
def test_models_that_view_what_convolutions_give(name, how):
    model, args = MODELS[name]
    model = model.eval()
    program = torch.jit.trace(model, args) if how == "trace" else torch.jit.script(model)
    keep(f"layout_{name}_{how}", program, args, eager=model)


@pytest.mark.feature("FX", "view() of the results of convolutions and pools")
@pytest.mark.parametrize("name", MODELS)
def test_what_make_fx_decomposed_keeps_its_views(name):
    model, args = MODELS[name]
    model = model.eval()
    graph = make_fx(model, decomposition_table=torch._decomp.core_aten_decompositions())(*args)
    assert any(n.target in (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default) for n in graph.graph.nodes)
    keep(f"layout_{name}_make_fx", graph, args, eager=model)


@pytest.mark.parametrize("name", MODELS)
def test_a_view_that_is_written_after_export(name):
    model, args = MODELS[name]

    class Written(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model.eval()

        def forward(self, *args):
            y = F.conv2d(args[0], torch.ones(2, args[0].shape[1], 1, 1))
            y.view(-1)[1:4] = 2.0
            y.view(y.shape[0], -1).mul_(2)
            return y, self.model(*args)

    program = torch.export.export(Written(), args)
    keep(f"layout_{name}_exported", program, args, eager=Written())


def strides(value):
    return [t.stride() for t in (value if isinstance(value, (tuple, list)) else [value])]


@pytest.mark.parametrize("last", [False, True], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize("name", ["fire", "non_local", "style_conv"])
def test_python_gets_tensors_with_pytorchs_strides(name, last):
    model, args = MODELS[name]
    model = model.eval()
    args = tuple(a.contiguous(memory_format=torch.channels_last) if last and a.dim() == 4 else a for a in args)
    if last and name != "fire":
        pytest.skip("PyTorch's own view refuses channels-last values")

    class Parts(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(args[0].size(1), 4, 3, padding=1)

        def forward(self, x):
            y = F.relu(self.conv(x))
            return y, y.permute(0, 2, 3, 1), y[:, 1:3], y[:, :, ::2], y.flatten(2), y + x[:, :1], F.max_pool2d(y, 2), y.mean([2, 3])

    parts = Parts().eval()
    for program in (torch.jit.trace(parts, args[:1]), torch.jit.script(parts)):
        ours = rushlight.lower(program, args[:1])(*args[:1])
        with torch.backends.mkldnn.flags(enabled=False):
            theirs = parts(*args[:1])
        torch.testing.assert_close(ours, theirs)
        assert strides(ours) == strides(theirs)


def told(x):
    return [x.stride(), [int(x.is_contiguous())], (x + 0).stride(), x.reshape(-1).stride(), x.clone().stride()]


def test_inputs_keep_their_strides():
    base = torch.rand(4, 6, 8, 10)
    net = rushlight.lower(torch.jit.script(told), (base,))
    for x in [base, base.transpose(1, 3), base[:, ::3, 2:5], base[..., 1], base[1, 2, 3], base[:, :0], base[:1].expand(3, -1, -1, -1),
              base.contiguous(memory_format=torch.channels_last)[:, :2]]:
        assert [tuple(said) for said in net(x)] == [tuple(said) for said in told(x)]


def test_a_view_that_is_given_lies_where_it_does_in_its_storage(tmp_path):
    @torch.jit.script
    def where(x):
        return x.storage_offset(), x.stride(), torch.as_strided(x, [2], [1], 0).clone(), torch.as_strided(x, [2], [1])

    rushlight.export(where, (torch.randn(6)[2:],), tmp_path / "where.rush")
    session = rushlight.load(tmp_path / "where.rush")
    base = torch.arange(40.0)
    for x in base[3:7], base.view(5, 8)[1:, 2:4].t()[0], base[30:][::3], base[:4]:
        offset, stride, first, own = session(x)
        wanted = where(x)
        assert (offset, stride) == wanted[:2]
        assert torch.equal(first, wanted[2]) and torch.equal(own, wanted[3])
    many = torch.zeros(1 << 20)
    assert session(many[-4:])[0] == 0  # a copy of a megabyte for four numbers would show here
