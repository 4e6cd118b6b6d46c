"""Quantised models: fake quantisation, pt2e."""

import copy

import pytest
import torch
import torch.nn.functional as F
from kept import keep
from torch import nn
from torch.ao import quantization as ao
from torch.ao.quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
from torch.ao.quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config


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
    net = Small().eval()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic))
    prepared = prepare_pt2e(torch.export.export_for_training(net, (images(),)).module(), quantizer)
    for _ in range(3):
        prepared(images())
    model = convert_pt2e(prepared)
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
