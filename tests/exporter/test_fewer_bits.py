"""Fewer bits by an option at export: the answers of the same arithmetic in PyTorch, sizes, what the report says."""

import copy
import subprocess

import pytest
import rushlight
import torch
from kept import keep, session
from torch import nn


class Rows8(nn.Module):
    """What the file computes of a linear layer with quantize="int8", in PyTorch's own operators."""

    def __init__(self, weight, bias):
        super().__init__()
        scales = weight.detach().abs().amax(1) / 127
        self.register_buffer("scales", scales)
        self.register_buffer("integers", torch.round(weight.detach() / scales.where(scales > 0, torch.ones(()))[:, None]))
        self.bias = bias

    def forward(self, x):
        least, most = torch.clamp(x.amin(-1, True), max=0), torch.clamp(x.amax(-1, True), min=0)
        scale = most / 255 - least / 255
        scale = torch.where(scale < 1e-37, torch.zeros_like(scale), scale)
        inverse = torch.where(scale > 0, 1 / scale, torch.zeros_like(scale))
        zero = torch.round(-least * inverse)
        steps = torch.clamp(torch.round(x * inverse) + zero, 0, 255) - zero
        sums = (steps.double() @ self.integers.double().t()).float()
        made = sums * (scale * self.scales)
        return made if self.bias is None else made + self.bias


def emulated(model, least=1024):
    """A copy whose linear layers of so many weights compute as the file does."""
    out = nn.Sequential(copy.deepcopy(model))
    for name, module in list(out.named_modules()):
        if isinstance(module, nn.Linear) and module.weight.numel() >= least:
            owner, _, last = name.rpartition(".")
            setattr(out.get_submodule(owner), last, Rows8(module.weight, module.bias))
    return out


@pytest.mark.parametrize(("inputs", "outputs", "bias"), [(64, 16, True), (37, 41, False), (1031, 1, True), (129, 130, True)])
def test_int8_is_the_same_arithmetic(inputs, outputs, bias):
    net = nn.Sequential(nn.Linear(inputs, outputs, bias), nn.ReLU()).eval()
    x = torch.randn(3, 7, inputs)
    x[0, 0], x[0, 1], x[0, 2], x[0, 3] = 0, x[0, 1].abs(), -x[0, 2].abs(), x[0, 3] * 1e-38
    x[0, 4] *= 1e30
    report = keep(f"int8_{inputs}_{outputs}", net, (x,), (x[:1, :1],), (x[:0],), (x[0, 5],), eager=emulated(net), quantize="int8")
    assert report.ops["rush::linear_int8"] == 1 and "rush::linear" not in report.ops and "aten::relu" not in report.ops
    assert torch.equal(session(f"int8_{inputs}_{outputs}")(x), emulated(net)(x))


def test_int8_of_what_is_not_finite():
    net = nn.Linear(64, 16).eval()
    keep("int8_not_finite", net, (torch.randn(2, 64),), eager=emulated(net), quantize="int8")
    x = torch.randn(4, 64)
    x[0, 3], x[1, 5], x[2, 63] = float("nan"), float("inf"), -float("inf")
    got = session("int8_not_finite")(x)
    assert got[:3].isnan().all() and torch.equal(got[3:], emulated(net)(x[3:]))


class Block(nn.Module):
    """Attention and a perceptron, in the ways that linear layers are written."""

    def __init__(self, width=64):
        super().__init__()
        self.qkv, self.out, self.up = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, 4 * width)
        self.down, self.bias = nn.Parameter(torch.randn(4 * width, width) / 16), nn.Parameter(torch.randn(width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 5)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        x = x + self.out(torch.nn.functional.scaled_dot_product_attention(q, k, v))
        x = x + torch.nn.functional.gelu(self.up(self.norm(x))) @ self.down + self.bias
        return self.head(self.norm(x))


def test_a_block(tmp_path):
    net, x = Block().eval(), torch.randn(2, 9, 64)
    plain = rushlight.export(net, (x,), tmp_path / "plain.rush")
    assert plain.quantised is None
    report = rushlight.export(net, (x,), tmp_path / "int8.rush", quantize="int8", dynamic_shapes={"x": {1: "n"}})
    assert report.quantised["bits"] == "int8" and report.quantised["layers"] == 4 and report.quantised["kept"] == 1
    weights = 64 * 192 + 64 * 64 + 2 * 64 * 256
    assert report.quantised["before"] == 4 * weights and report.quantised["after"] == weights + 4 * (192 + 64 + 256 + 64)
    assert report.file_bytes < plain.file_bytes - 2.9 * weights
    assert 0.99 < report.quantised["cosine"] < 1 and 1e-5 < report.quantised["l2"] < 0.1 and 0 < report.quantised["max"] < 0.1
    assert report.verified == 1 + len(report.tried) > 1
    assert "4 layers, 1 stay" in str(report) and "cosine" in str(report)
    file = rushlight.load(tmp_path / "int8.rush")
    want, got = net(x), file(x)
    assert 0 < (got - want).norm() / want.norm() < 0.1
    assert rushlight.load(tmp_path / "int8.rush", threads=4)(x).equal(got)
    assert report.test_vectors == 1 and file.verify()[0].compared > 0


def test_test_vectors_tell_a_wrong_weight(tmp_path):
    """They expect the file's own answers, and other weights' are not among them."""
    net, x = Block().eval(), torch.randn(2, 9, 64)
    rushlight.export(net, (x,), tmp_path / "m.rush", quantize="int8")
    data = bytearray((tmp_path / "m.rush").read_bytes())
    integers = torch.round(net.out.weight.detach() / (net.out.weight.detach().abs().amax(1, True) / 127)).to(torch.int8)
    at = data.find(integers.numpy().tobytes())
    assert at > 0
    data[at:at + 4096] = bytes(reversed(data[at:at + 4096]))
    with pytest.raises(rushlight.RushlightError, match="was wanted"):
        rushlight.Session(bytes(data)).verify()


def test_a_users_own_expectation_is_held(tmp_path):
    net, x = nn.Linear(64, 64).eval(), torch.randn(5, 64)
    good = emulated(net)(x).detach()
    rushlight.export(net, (x,), tmp_path / "m.rush", quantize="int8", tests=[((x,), good, 1e-6, 1e-6)])
    with pytest.raises(rushlight.RushlightError, match="differs from PyTorch"):
        rushlight.export(net, (x,), tmp_path / "n.rush", quantize="int8", tests=[((x,), net(x).detach(), 1e-6, 1e-6)])
    assert not (tmp_path / "n.rush").exists()


def test_nothing_to_quantise(tmp_path):
    with pytest.warns(UserWarning, match="nothing has fewer bits"):
        report = rushlight.export(nn.Linear(8, 8), (torch.randn(2, 8),), tmp_path / "m.rush", quantize="int8")
    assert report.quantised["layers"] == 0 and report.quantised["kept"] == 1 and list(report.ops) == ["rush::linear"]


def test_weights_that_are_not_finite_stay(tmp_path):
    net = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)).eval()
    with torch.no_grad():
        net[0].weight[0, 0] = float("inf")
        net[1].weight[3] = 0
    report = rushlight.export(net, (torch.randn(2, 64).abs(),), tmp_path / "m.rush", quantize="int8", verify=False, test_vectors=False)
    assert report.quantised["layers"] == 1 and report.quantised["kept"] == 1


def eight_bits(w):
    scales = w.abs().amax(1, True) / 127
    return torch.round(w / scales.where(scales > 0, torch.ones(()))) * scales


def four_bits(w, group, zero_points):
    """Groups of columns, the last one padded by zeros; scales are halves."""
    n, k = w.shape
    groups = torch.nn.functional.pad(w, (0, -k % group)).view(n, -1, group)
    if zero_points:
        low, high = groups.amin(2, True).clamp(max=0), groups.amax(2, True).clamp(min=0)
        scales = ((high - low) / 15).half().float()
        zeros = torch.round(-low / scales.where(scales > 0, torch.ones(()))).clamp(0, 15)
    else:
        scales = (groups.gather(2, groups.abs().argmax(2, True)) / -8).half().float()
        zeros = torch.full((), 8.0)
    steps = torch.round(groups / scales.where(scales != 0, torch.full((), torch.inf))) + zeros
    return ((steps.clamp(0, 15) - zeros) * scales).view(n, -1)[:, :k]


class Words(nn.Module):
    """An embedding, linear layers of an odd and an even width, one that is small."""

    def __init__(self):
        super().__init__()
        self.table, self.up, self.down, self.head = nn.Embedding(50, 37), nn.Linear(37, 66), nn.Linear(66, 41, bias=False), nn.Linear(41, 3)
        with torch.no_grad():
            self.up.weight[0], self.up.weight[1, :32] = 0, 0

    def forward(self, ids):
        return self.head(torch.tanh(self.down(torch.relu(self.up(self.table(ids))))))


WEIGHTS_ONLY = {"int8-weights": eight_bits, "float16": lambda w: w.half().float(), "int4-weights": lambda w: four_bits(w, 32, False),
                **{f"int4-weights:{group}{':zero-points' * zeros}": lambda w, group=group, zeros=zeros: four_bits(w, group, zeros)
                   for group in (32, 64, 128) for zeros in (False, True)}}


@pytest.mark.parametrize("bits", WEIGHTS_ONLY)
def test_weights_alone(bits):
    """Such a file computes what PyTorch does with weights that went through the same bits."""
    net, ids = Words().eval(), torch.randint(0, 50, (2, 7))
    plain = copy.deepcopy(net)
    with torch.no_grad():
        plain.table.weight.copy_(plain.table.weight.half().float() if bits == "float16" else eight_bits(plain.table.weight))
        for layer in (plain.up, plain.down):
            layer.weight.copy_(WEIGHTS_ONLY[bits](layer.weight))
    report = keep(f"bits_{bits.replace(':', '_')}", net, (ids,), (ids[:0],), eager=plain, quantize=bits)
    assert report.quantised["layers"] == 3 and report.quantised["kept"] == 1
    share = report.quantised["after"] / report.quantised["before"]
    assert share == 0.5 if bits == "float16" else 0.125 < share < 0.29
    assert report.quantised["cosine"] > 0.98
    assert torch.allclose(session(f"bits_{bits.replace(':', '_')}")(ids), plain(ids), 1e-5, 1e-6)


def test_halves_of_convolutions():
    net, x = nn.Sequential(nn.Conv2d(8, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 64, 1), nn.Conv2d(64, 64, 5, groups=64)).eval(), torch.randn(1, 8, 9, 11)
    plain = copy.deepcopy(net)
    with torch.no_grad():
        for layer in (plain[0], plain[2], plain[3]):
            layer.weight.copy_(layer.weight.half().float())
    report = keep("bits_float16_convolutions", net, (x,), eager=plain, quantize="float16", rtol=1e-4, atol=1e-5)
    assert report.quantised["layers"] == 3 and report.weights_bytes < 0.6 * 4 * sum(p.numel() for p in net.parameters()) + x.nbytes + 24000


def test_halves_that_overflow_stay(tmp_path):
    net = nn.Linear(64, 64).eval()
    with torch.no_grad():
        net.weight[0, 0] = 1e5
    with pytest.warns(UserWarning, match="nothing has fewer bits"):
        report = rushlight.export(net, (torch.randn(2, 64),), tmp_path / "m.rush", quantize="float16")
    assert report.quantised["kept"] == 1


@pytest.mark.parametrize("word", ["int3", "int4-weights:16", "int8:32", "int4-weights:zero"])
def test_words_that_there_are_not(tmp_path, word):
    with pytest.raises(ValueError, match=f"there is no quantize='{word}'; there is 'int8', 'int8-weights', 'int4-weights'"):
        rushlight.export(nn.Linear(64, 64), (torch.randn(2, 64),), tmp_path / "m.rush", quantize=word)
    assert not (tmp_path / "m.rush").exists()


def test_the_command_line(tmp_path):
    net = nn.Linear(64, 64).eval()
    torch.jit.trace(net, (torch.randn(2, 64),)).save(str(tmp_path / "m.pt"))
    command = ["rushlight", "export", str(tmp_path / "m.pt"), "-o", str(tmp_path / "m.rush"), "--input", "2x64"]
    done = subprocess.run([*command, "--quantize", "int8"], capture_output=True, text=True)
    assert done.returncode == 0 and "quantised int8: 1 layers" in done.stdout, done.stderr
    x = torch.randn(3, 64)
    assert torch.equal(rushlight.load(tmp_path / "m.rush")(x), emulated(net)(x))
    done = subprocess.run([*command, "--quantize", "int5"], capture_output=True, text=True)
    assert done.returncode == 2 and "'int8'" in done.stderr
