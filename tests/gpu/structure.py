#!/usr/bin/env python3
"""Exports the benchmark's models for structure.test.mjs, with smaller vocabularies and fewer layers: structure.py FOLDER."""
import sys
import warnings
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests" / "bench"), str(TOP / "demo" / "02-semantic-search")]
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import minilm  # noqa: E402
import networks  # noqa: E402
import rushlight  # noqa: E402


def mini_lm(tokens):
    def make():
        return minilm.MiniLM(words=1000).eval(), {"ids": torch.arange(tokens)[None], "mask": torch.ones(1, tokens).long()}
    return make


def unet():
    return networks.unet()[0], {"image": torch.randn(1, 3, 64, 64)}


def gpt2_step():
    caches = {f"{what}{i}": torch.randn(1, 4, 128, 64) for i in range(3) for what in ("keys", "values")}
    model = networks.Step(layers=3, width=256, heads=4, words=1000).eval()
    return model, {"token": torch.tensor([[7]]), "place": torch.tensor([[128]]), **caches}


MODELS = {"mobilenet_v2": networks.torchvision("mobilenet_v2"), "resnet18": networks.torchvision("resnet18"),
          "minilm-16": mini_lm(16), "minilm-128": mini_lm(128), "unet-64": unet, "gpt2-step": gpt2_step}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name, make in MODELS.items():
        model, inputs = make()
        torch.manual_seed(1)
        rushlight.export(model, tuple(inputs.values()), folder / f"{name}.rush", input_names=list(inputs), verify=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
