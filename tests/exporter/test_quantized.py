"""Quantized models: fake quantization, pt2e."""

import copy
import re
from pathlib import Path

import pytest
import rushlight
import torch
import torch.nn.functional as F
from recorded_programs import keep
from torch import nn
from torch.ao import quantization as ao
from torch.ao.quantization import quantize_fx


class Small(nn.Module):
    """A model whose parts quantization fuses: convolution, norm and relu; a sum; a linear layer."""

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


@pytest.mark.feature("torch.export", "pt2e quantization, decomposed")
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


@pytest.mark.feature("TorchScript", "quantization-aware training: fake quantization")
def test_fake_quantization():
    net = Small().train()
    net.qconfig = ao.get_default_qat_qconfig("qnnpack")
    prepared = ao.prepare_qat(net)
    for _ in range(3):
        prepared(images())
    prepared.apply(ao.disable_observer)
    prepared.eval()
    keep("fake_quantized", torch.jit.trace(copy.deepcopy(prepared), (images(),)), (images(),), eager=prepared)


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


@pytest.mark.feature("TorchScript", "dynamic quantization: linear layers, LSTM, GRU")
@pytest.mark.parametrize(("kind", "options"), [(nn.LSTM, {}), (nn.LSTM, {"num_layers": 2, "bidirectional": True, "batch_first": True}), (nn.GRU, {"num_layers": 2}),
                                               (nn.GRU, {"bidirectional": True, "batch_first": True})])
def test_dynamic_quantization(kind, options):
    net = ao.quantize_dynamic(Recurrent(kind, **options).eval(), {nn.LSTM, nn.GRU, nn.Linear}, dtype=torch.qint8)
    x = torch.randn(4, 3, 5)
    report = keep(f"quantized_{kind.__name__}_{len(options)}".lower(), torch.jit.script(net), (x,), eager=net, rtol=1e-4, atol=1e-5)
    assert "rush::linear_dynamic" in report.ops


class Packed(Recurrent):
    def forward(self, x, lengths):
        made, last = self.layers(nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))
        made, lengths = nn.utils.rnn.pad_packed_sequence(made)
        return self.linear(made), last, lengths


@pytest.mark.feature("TorchScript", "dynamic quantization: LSTM and GRU on packed sequences")
@pytest.mark.parametrize(("kind", "options"), [(nn.LSTM, {}), (nn.LSTM, {"num_layers": 2, "bidirectional": True}), (nn.GRU, {}), (nn.GRU, {"num_layers": 2, "bidirectional": True})])
def test_dynamic_quantization_of_packed_sequences(kind, options):
    net = ao.quantize_dynamic(Packed(kind, **options).eval(), {nn.LSTM, nn.GRU, nn.Linear}, dtype=torch.qint8)
    x, lengths = torch.randn(5, 4, 5), torch.tensor([3, 5, 1, 3])
    report = keep(f"quantized_packed_{kind.__name__}_{len(options)}".lower(), torch.jit.trace(net, (x, lengths)), (x, lengths), eager=net, rtol=1e-4, atol=1e-5)
    assert "rush::linear_dynamic" in report.ops


@pytest.mark.feature("TorchScript", "dynamic quantization: recurrent cells")
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_dynamically_quantized_cells(kind):
    net = ao.quantize_dynamic(nn.Sequential(kind(5, 6)).eval(), {kind}, dtype=torch.qint8)
    keep(f"quantized_{kind.__name__}".lower(), torch.jit.script(net[0]), (torch.randn(3, 5),), eager=net[0])


class Quantized(nn.Module):
    """A small model in the form that PyTorch's eager mode requires."""

    def __init__(self):
        super().__init__()
        self.net, self.quant, self.dequant = Small(), ao.QuantStub(), ao.DeQuantStub()
        self.net.add, self.net.relu = nn.quantized.FloatFunctional(), nn.ReLU()
        ao.fuse_modules(self.net.eval(), [["one", "norm"]], inplace=True)

    def forward(self, x):
        x = self.net.relu(self.net.one(self.quant(x)))
        x = self.net.add.add(x, self.net.two(x))
        return self.dequant(self.net.linear(F.adaptive_avg_pool2d(x, 1).flatten(1)))


def small_weights():
    """Keeps weights within -64..63, so that oneDNN's sums are exact on every processor: without VNNI it adds two products in 16 bits."""
    return ao.PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-64, quant_max=63)


SMALL_WEIGHTS = ao.QConfig(activation=ao.HistogramObserver.with_args(reduce_range=False), weight=small_weights)


def converted(qconfig, batches=1):
    """Returns the quantized model, with ranges from that many batches."""
    net = Quantized().eval()
    net.qconfig = qconfig
    ao.prepare(net, inplace=True)
    for _ in range(batches):
        net(images())
    return ao.convert(net, inplace=True)


@pytest.mark.feature("TorchScript", "static quantization")
@pytest.mark.parametrize("engine_of", ["qnnpack", "onednn"])
@pytest.mark.parametrize("way", ["script", "trace"])
def test_static_quantization(way, engine_of):
    torch.backends.quantized.engine = engine_of
    net, x = converted(SMALL_WEIGHTS, batches=3), images()
    model = torch.jit.script(net) if way == "script" else torch.jit.trace(net, (x,))
    keep(f"quantized_by_{way}_{engine_of}", model, (x,), eager=net)


@pytest.mark.parametrize("layer,line", [("one", "self.net.one(self.quant(x))"), ("two", "self.net.two(x)"), ("linear", "self.net.linear(")])
def test_diff_names_the_quantized_layer(layer, line, out):
    """Each layer becomes a program of other operators, and its last operator gives the same as PyTorch's layer."""
    net, x = converted(ao.get_default_qconfig("qnnpack")), images()
    rushlight.export(torch.jit.script(net), (x,), out)
    agrees = rushlight.diff(out, torch.jit.script(net), (x,))
    assert agrees and agrees.compared > 7
    changed = getattr(net.net, layer)
    weight, bias = changed._weight_bias()
    changed.set_weight_bias(torch._make_per_tensor_quantized_tensor(-weight.int_repr(), weight.q_scale(), 0), bias)
    differs = rushlight.diff(out, torch.jit.script(net), (x,))
    lines = Path(__file__).read_text().splitlines()
    at = re.search(r"test_quantized.py:(\d+)", differs.where)
    assert not differs and line in lines[int(at[1]) - 1]


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.last = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.one(x))
        x = F.relu(x + self.three(F.relu(self.two(x))))
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


@pytest.mark.parametrize("seed", range(3))
def test_where_an_engine_rounds_to_another_step(seed, out):
    """oneDNN rounds differently on some processors. The answer is then right by its norm, and the test vector stores the file's answer."""
    torch.backends.quantized.engine = "onednn"
    torch.manual_seed(seed)
    net, x = Residual().eval(), torch.randn(2, 3, 24, 24)
    prepared = quantize_fx.prepare_fx(net, ao.get_default_qconfig_mapping("x86"), (x,))
    for _ in range(5):
        prepared(torch.randn(2, 3, 24, 24))
    report = rushlight.export(quantize_fx.convert_fx(prepared), (x,), out)
    assert report.verified == 1 and report.test_vectors == 1
    rushlight.load(out).verify()


def test_where_sums_of_pytorch_overflow(out):
    """Weights and activations of 8 bits by oneDNN: exact where the processor has VNNI, else refused with what helps."""
    torch.backends.quantized.engine = "onednn"
    net = converted(ao.get_default_qconfig("qnnpack"))
    try:
        assert rushlight.export(torch.jit.script(net), (images(),), out).verified
    except rushlight.RushlightError as error:
        assert re.search("no VNNI.*reduce_range.*'qnnpack'", str(error))


class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = ao.QuantStub(), ao.DeQuantStub()
        self.one, self.relu = nn.Conv3d(3, 8, (3, 2, 3), stride=(1, 2, 1), padding=(1, 0, 1)), nn.ReLU()
        self.two = nn.Conv3d(8, 5, 3, stride=2, dilation=(1, 1, 2), padding=2)

    def forward(self, x):
        return self.dequant(self.two(self.relu(self.one(self.quant(x)))))


@pytest.mark.feature("TorchScript", "static quantization: three dimensions")
def test_convolutions_of_volumes():
    """Uses oneDNN, the only engine of Debian's torch that returns such weights."""
    torch.backends.quantized.engine = "onednn"
    net = Volumes().eval()
    net.qconfig = SMALL_WEIGHTS
    ao.fuse_modules(net, [["one", "relu"]], inplace=True)
    ao.prepare(net, inplace=True)
    x = torch.randn(2, 3, 5, 6, 7)
    net(x)
    ao.convert(net, inplace=True)
    step, want = net.two.scale, net(x)  # kernels of oneDNN round a value between two steps in different directions
    report = keep("quantized_volumes", torch.jit.script(net), (x,), eager=net, atol=1.01 * step)
    assert report.ops["rush::quantized_conv"] == 2
    made = rushlight.load(report.path)(x)
    assert made.stride() == want.stride() and ((made - want).abs() > step / 2).float().mean() < 0.02


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.words = nn.EmbeddingBag(20, 12, mode="sum"), nn.Embedding(20, 12)

    def forward(self, x, offsets):
        return self.bag(x, offsets), self.words(x)


@pytest.mark.feature("TorchScript", "quantized embeddings and bags of 8 and 4 bits")
@pytest.mark.parametrize("qconfig", [ao.float_qparams_weight_only_qconfig, ao.float_qparams_weight_only_qconfig_4bit])
def test_quantized_embeddings(qconfig):
    net = Bags().eval()
    net.bag.qconfig, net.words.qconfig = qconfig, ao.float_qparams_weight_only_qconfig  # PyTorch: an Embedding reads 4 bits as 8
    ao.prepare(net, inplace=True)
    ao.convert(net, inplace=True)
    x, offsets = torch.tensor([3, 19, 0, 7, 7]), torch.tensor([0, 2, 2])
    bits = 8 if net.bag._packed_params.dtype == torch.quint8 else 4
    report = keep(f"quantized_embeddings_{bits}", torch.jit.script(net), (x, offsets), eager=net)
    assert report.ops["rush::embedding_rows"] == 2 and report.weights_bytes < 2 * 20 * 12 * 4


def test_a_quantized_answer_is_refused(out):
    class Answer(nn.Module):
        def forward(self, x):
            return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)

    with pytest.raises(rushlight.RushlightError, match="dequantize"):
        rushlight.export(torch.jit.script(Answer()), (torch.randn(3),), out)


class Summed(nn.Module):
    """A quantized convolution with small weights, fused with a sum as oneDNN does."""

    def __init__(self, relu):
        super().__init__()
        w = torch.quantize_per_channel(torch.randn(6, 4, 3, 3).clamp(-0.6, 0.6), torch.rand(6).double() * 0.01 + 0.01, torch.zeros(6, dtype=torch.int64), 0, torch.qint8)
        self.packed, self.relu = torch.ops.quantized.conv2d_prepack(w, torch.randn(6), [2, 2], [1, 1], [1, 1], 1), relu

    def forward(self, x, y):
        x, y = torch.quantize_per_tensor(x, 0.031, 119, torch.quint8), torch.quantize_per_tensor(y, 0.05, 100, torch.quint8)
        if self.relu:
            made = torch.ops.quantized.conv2d_add_relu(x, y, self.packed, 0.07, 101)
        else:
            made = torch.ops.quantized.conv2d_add(x, y, self.packed, 0.07, 101)
        return made.dequantize(), made.int_repr()


@pytest.mark.feature("TorchScript", "static quantization: a convolution fused with a sum")
@pytest.mark.parametrize("relu", [False, True])
def test_convolution_and_sum(relu):
    torch.backends.quantized.engine = "onednn"
    net = Summed(relu)
    keep(f"quantized_conv_add_{relu}".lower(), torch.jit.script(net), (torch.randn(2, 4, 7, 9), torch.randn(2, 6, 4, 5)), eager=net)


@pytest.mark.feature("TorchScript", "dynamic quantization: convolutions")
@pytest.mark.parametrize("engine_of", ["qnnpack", "onednn"])
def test_dynamically_quantized_convolution(engine_of):
    torch.backends.quantized.engine = engine_of
    net = torch.ao.nn.quantized.dynamic.Conv2d(3, 4, 3)
    keep(f"quantized_conv_dynamic_{engine_of}", torch.jit.script(net), (torch.randn(2, 3, 7, 5),), eager=net)


class Table(nn.Module):
    """The rows of a packed table. The first column has zeros, so that its values are what is added to each row."""

    def __init__(self, bits, dtype):
        super().__init__()
        self.bits = bits
        scales, zeros = torch.exp(torch.randn(64) * 4), torch.randint(1, 2**bits, (64,)).float()
        rows = (torch.randint(0, 2**bits, (64, 12)) - zeros[:, None]) * scales[:, None]
        rows[:, 0] = -zeros * scales
        self.packed = torch.ops.quantized.embedding_bag_prepack(torch.quantize_per_channel(rows, scales, zeros, 0, dtype))

    def forward(self, i):
        if self.bits == 8:
            return torch.ops.quantized.embedding_byte(self.packed, i)
        return torch.ops.quantized.embedding_4bit(self.packed, i)


@pytest.mark.parametrize("bits, dtype", [(8, torch.quint8), (4, torch.quint4x2)])
@pytest.mark.parametrize("name", ["onednn", "qnnpack"])
def test_packed_tables_keep_every_bit(bits, dtype, name, out):
    torch.backends.quantized.engine = name
    torch.manual_seed(bits)
    net = Table(bits, dtype)
    i = torch.arange(64)
    rushlight.export(torch.jit.script(net), (i,), out, rtol=0, atol=0)
    got = rushlight.load(out)(i)
    assert torch.equal(got, net(i))
    assert len(set(got[:, 0].tolist())) > 60
