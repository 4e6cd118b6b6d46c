"""Models of timm: the smallest one of each architecture, and several of varied architectures (timm.txt)."""

from pathlib import Path

import timm
import torch
from entry import Entry

SMALL, PATCHES = 96, 112  # for models of any size, and for models with a size option (a multiple of 14 and 16)


def names():
    return (Path(__file__).resolve().parent / "timm.txt").read_text().split()


def kind(name):
    """Returns a heading of the page."""
    return timm.models._registry._model_to_module[name]


def runs(model, size):
    try:
        with torch.no_grad():
            model.eval()(torch.zeros(1, 3, size, size))
        return True
    except Exception:  # models raise many types
        return False


def make(name):
    """Makes the model with the smallest image that it accepts."""
    said = timm.get_pretrained_cfg(name)
    size = said.input_size[-1]
    if said.fixed_input_size:
        try:
            model = timm.create_model(name, pretrained=False, img_size=PATCHES)
            if runs(model, PATCHES):
                return Entry(model, (torch.randn(1, 3, PATCHES, PATCHES),))
        except Exception:  # the model has a fixed size
            pass
    model = timm.create_model(name, pretrained=False)
    if not said.fixed_input_size:
        size = said.min_input_size[-1] if said.min_input_size else SMALL if runs(model, SMALL) else size
    return Entry(model, (torch.randn(1, 3, size, size),))
