"""Quantised models: fake quantisation, pt2e."""

import copy

import pytest
import rushlight
import torch
import torch.nn.functional as F
from kept import keep
from torch import nn
from torch.ao import quantization as ao


class Small(nn.Module):
    """What quantisation fuses: convolution, norm and relu; a sum; a linear layer."""

    def __init__(self):
        super().__init__()
        self.one, self.norm, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1)
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.norm(self.one(x)))
        x = x + self.two(x)
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


def images(n=2):
    return torch.randn(n, 3, 12, 12)


@pytest.mark.feature("torch.export", "pt2e quantisation, decomposed")
@pytest.mark.parametrize("dynamic", [False, True])
def test_pt2e(dynamic):
    pt2e = pytest.importorskip("torch.ao.quantization.quantize_pt2e", reason="later versions have it in torchao")
    from torch.ao.quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    net = Small().eval()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic))
    prepared = pt2e.prepare_pt2e(torch.export.export_for_training(net, (images(),)).module(), quantizer)
    for _ in range(3):
        prepared(images())
    model = pt2e.convert_pt2e(prepared)
    report = keep(f"pt2e_{'dynamic' if dynamic else 'static'}", torch.export.export(model, (images(),)), (images(),), eager=model)
    assert not any("quantized_decomposed" in op for op in report.ops)


@pytest.mark.feature("TorchScript", "quantisation-aware training: fake quantisation")
def test_fake_quantisation():
    net = Small().train()
    net.qconfig = ao.get_default_qat_qconfig("qnnpack")
    prepared = ao.prepare_qat(net)
    for _ in range(3):
        prepared(images())
    prepared.apply(ao.disable_observer)
    prepared.eval()
    keep("fake_quantised", torch.jit.trace(copy.deepcopy(prepared), (images(),)), (images(),), eager=prepared)


@pytest.fixture(autouse=True)
def engine():
    before, torch.backends.quantized.engine = torch.backends.quantized.engine, "qnnpack"
    yield
    torch.backends.quantized.engine = before


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layers, self.linear = kind(5, 6, **options), nn.Linear(12 if options.get("bidirectional") else 6, 3)

    def forward(self, x):
        made, last = self.layers(x)
        return self.linear(made), last


@pytest.mark.feature("TorchScript", "dynamic quantisation: linear layers, LSTM, GRU")
@pytest.mark.parametrize(("kind", "options"), [(nn.LSTM, {}), (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}), (nn.GRU, {"num_layers": 2}),
                                               (nn.GRU, {"bidirectional": True, "batch_first": True})])
def test_dynamic_quantisation(kind, options):
    net = ao.quantize_dynamic(Recurrent(kind, **options).eval(), {nn.LSTM, nn.GRU, nn.Linear}, dtype=torch.qint8)
    x = torch.randn(4, 3, 5)
    report = keep(f"quantised_{kind.__name__}_{len(options)}".lower(), torch.jit.script(net), (x,), eager=net, rtol=1e-4, atol=1e-5)
    assert "rush::linear_dynamic" in report.ops


@pytest.mark.feature("TorchScript", "dynamic quantisation: recurrent cells")
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_dynamically_quantised_cells(kind):
    net = ao.quantize_dynamic(nn.Sequential(kind(5, 6)).eval(), {kind}, dtype=torch.qint8)
    keep(f"quantised_{kind.__name__}".lower(), torch.jit.script(net[0]), (torch.randn(3, 5),), eager=net[0])


class Quantised(nn.Module):
    """Small, as PyTorch's eager mode wants it."""

    def __init__(self):
        super().__init__()
        self.net, self.quant, self.dequant = Small(), ao.QuantStub(), ao.DeQuantStub()
        self.net.add, self.net.relu = nn.quantized.FloatFunctional(), nn.ReLU()
        ao.fuse_modules(self.net.eval(), [["one", "norm"]], inplace=True)

    def forward(self, x):
        x = self.net.relu(self.net.one(self.quant(x)))
        x = self.net.add.add(x, self.net.two(x))
        return self.dequant(self.net.linear(F.adaptive_avg_pool2d(x, 1).flatten(1)))


@pytest.mark.feature("TorchScript", "static quantisation")
@pytest.mark.parametrize("engine_of", ["qnnpack", "onednn"])
@pytest.mark.parametrize("way", ["script", "trace"])
def test_static_quantisation(way, engine_of):
    torch.backends.quantized.engine = engine_of
    net = Quantised().eval()
    net.qconfig = ao.get_default_qconfig("qnnpack")
    ao.prepare(net, inplace=True)
    for _ in range(3):
        net(images())
    ao.convert(net, inplace=True)
    x = images()
    model = torch.jit.script(net) if way == "script" else torch.jit.trace(net, (x,))
    keep(f"quantised_by_{way}_{engine_of}", model, (x,), eager=net)


def test_a_quantised_answer_is_refused(out):
    class Answer(nn.Module):
        def forward(self, x):
            return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)

    with pytest.raises(rushlight.RushlightError, match="dequantize"):
        rushlight.export(torch.jit.script(Answer()), (torch.randn(3),), out)
