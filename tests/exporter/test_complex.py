"""Models of complex numbers whose operators are programs of real ones."""

import pytest
import rushlight
import torch
from torch import nn
from torch.testing import assert_close

LAYERS = [nn.Conv1d(3, 4, 3, 2, 1, dtype=torch.complex64), nn.Conv2d(4, 6, 3, padding="same", groups=2, dtype=torch.complex64),
          nn.Conv3d(2, 3, 2, bias=False, dtype=torch.complex64), nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2, dtype=torch.complex64)]


@pytest.mark.parametrize("way", ["traced", "scripted", "exported"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda m: type(m).__name__)
def test_convolutions_of_complex_numbers(layer, way, out):
    x = torch.randn(2, layer.in_channels, *[6] * len(layer.kernel_size), dtype=torch.complex64)
    layer = layer.eval()
    model = {"traced": lambda: layer, "scripted": lambda: torch.jit.script(layer), "exported": lambda: torch.export.export(layer, (x,))}[way]()
    rushlight.export(model, (x,), out)
    again = torch.randn_like(x)
    assert_close(rushlight.load(out)(again), layer(again).detach())


def roots(x):
    return {1 + 2j: x, -1j: x * 2}


@pytest.mark.parametrize("front", [lambda f, x: f, lambda f, x: torch.export.export(Calls(f), (x,))], ids=["traced", "torch.export"])
def test_a_dict_may_have_complex_keys(front, out):
    x = torch.rand(3)
    rushlight.export(front(roots, x), x, out)
    got, want = rushlight.load(out)(x), roots(x)
    assert list(got) == list(want)
    assert_close(got, want)


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)
