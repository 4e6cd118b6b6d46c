"""Models of timm: of each architecture the smallest, of many-sided ones several (timm.txt)."""

from pathlib import Path

import timm
import torch
from entry import Entry

SMALL = 96  # for what takes any size


def names():
    return (Path(__file__).resolve().parent / "timm.txt").read_text().split()


def kind(name):
    """A heading of the page."""
    return timm.models._registry._model_to_module[name]


def size_of(model, name):
    """The least that the model says that it takes."""
    said = model.pretrained_cfg
    if said.get("fixed_input_size"):
        return said["input_size"][-1]
    if said.get("min_input_size"):
        return said["min_input_size"][-1]
    try:
        with torch.no_grad():
            model.eval()(torch.zeros(1, 3, SMALL, SMALL))
        return SMALL
    except Exception:  # what a model raises is of many types
        return said["input_size"][-1]


def make(name):
    model = timm.create_model(name, pretrained=False)
    size = size_of(model, name)
    return Entry(model, (torch.randn(1, 3, size, size),))
