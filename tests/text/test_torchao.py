"""Models that torchao quantized keep their integers in the file, and give torchao's answers."""

import pytest
import rushlight
import text_models
import torch
from torch import nn
from torchao.quantization import (int8_dynamic_activation_int4_weight, int8_dynamic_activation_int8_weight, int8_weight_only, quantize_)

KINDS = {"int8 weights": int8_weight_only, "int8": int8_dynamic_activation_int8_weight, "8da4w": int8_dynamic_activation_int4_weight}


def net():
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64, bias=False)).eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", ["traced", "torch.export"])
def test_quantized_weights_stay_integers(kind, route, out):
    model, x = net(), torch.randn(4, 256)
    weights = sum(p.numel() for p in model.parameters() if p.dim() == 2)
    quantize_(model, KINDS[kind]())
    given = model
    if route == "torch.export":
        from torchao.utils import unwrap_tensor_subclass

        given = torch.export.export(unwrap_tensor_subclass(model), (x,), strict=True)
    report = rushlight.export(given, (x,), out, **({"dynamic_shapes": {"input": {0: "batch"}}} if route == "traced" else {}))
    assert report.route == route and report.verified
    assert report.weights_bytes < 1.3 * weights
    for rows in (4,) if route == "torch.export" else (4, 1, 7):
        x = torch.randn(rows, 256)
        with torch.no_grad():
            torch.testing.assert_close(rushlight.load(out)(x), model(x), rtol=1e-4, atol=1e-4)


def test_a_language_model_of_torchao(out):
    model = text_models.decoder("Llama")
    quantize_(model, int8_weight_only())
    ids = torch.tensor([[1, 2, 3, 4]])
    model.config.use_cache = False
    rushlight.export(model, {"input_ids": ids}, out)
    with torch.no_grad():
        torch.testing.assert_close(rushlight.load(out)(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-4)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(256, 256)

    def forward(self, x):
        return self.fc(x)

    def twice(self, x):
        return self.fc(self.fc(x))


def test_methods_of_one_model_share_its_weights(out):
    model, x = Two().eval(), torch.randn(4, 256)
    quantize_(model, int8_weight_only())
    report = rushlight.export({"once": (model, (x,)), "twice": (model.twice, (x,))}, path=out)
    assert report.weights_bytes < 1.3 * 256 * 256
    session = rushlight.load(out)
    with torch.no_grad():
        torch.testing.assert_close(session.call("once", x), model(x), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(session.call("twice", x), model.twice(x), rtol=1e-4, atol=1e-4)


def test_a_method_of_a_model(out):
    model, x = Two().eval(), torch.randn(4, 256)
    quantize_(model, int8_weight_only())
    report = rushlight.export(model.twice, (x,), out)
    assert report.weights_bytes < 1.3 * 256 * 256
    with torch.no_grad():
        torch.testing.assert_close(rushlight.load(out)(x), model.twice(x), rtol=1e-4, atol=1e-4)
