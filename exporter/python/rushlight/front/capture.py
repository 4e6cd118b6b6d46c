"""Chooses the front for a model."""

import itertools
import os

import torch
from torch.utils import _pytree as pytree

from ..base.errors import RushlightError, unsupported
from ..base.user_frame import warn_user
from ..base.values import require_utf8
from ..exported_program.files import is_program_file
from .captured import TraceWarning
from .fx import capture_fx
from .program import capture_program
from .script import capture_script, is_script
from .subclass_weights import with_plain_weights
from .trace import capture_traced

_PREPARED = ("the model is prepared for quantization and not converted, so its observers run and store what they see: export the model "
             "as it was before")


def capture(model, example_inputs, train=False, source=True, names=None):
    """Returns a Captured program of a model of any kind, as export() takes it.

    Args:
        model: a model without wrappers, see inputs.unwrapped
        example_inputs: a tuple, or None
        train: keep the training mode
        source: keep Python lines and PyTorch's texts
        names: names of the inputs, as inputs.positional gives them

    Raises:
        RushlightError, TypeError, ValueError: the model cannot be exported
    """
    if isinstance(model, (str, os.PathLike)):
        model = os.fspath(model)
        if is_program_file(model):
            model = torch.export.load(model)
    refuse_meta(model, example_inputs)
    if isinstance(model, torch.nn.Module):
        for name in (*(name for name, _ in model.named_modules()), *(name for name, _ in _tensors_of(model))):
            require_utf8(name, "the name of a submodule, parameter or buffer", unsupported)
    if isinstance(model, torch.export.ExportedProgram):
        return capture_program(model, source)
    model = with_plain_weights(model)
    prepared = any(map(_is_observer, model.modules())) if isinstance(model, torch.nn.Module) else False
    if prepared:
        warn_user(_PREPARED, UserWarning)
    captured = _captured(model, example_inputs, train, names)
    captured.warnings = [*[TraceWarning("", _PREPARED)] * prepared, *captured.warnings]
    return captured


def _captured(model, example_inputs, train, names):
    if isinstance(model, torch.fx.GraphModule):
        return capture_fx(model, example_inputs, train)
    if is_script(model):
        return capture_script(model)
    return capture_traced(model, example_inputs, train, names)


def _tensors_of(model):
    if isinstance(model, torch.export.ExportedProgram):
        return itertools.chain(model.state_dict.items(), model.constants.items())
    if isinstance(model, torch.nn.Module):
        return itertools.chain(model.named_parameters(), model.named_buffers())
    return ()


def refuse_meta(model, example_inputs):
    """Raises an error if a tensor has no values."""
    for name, t in _tensors_of(model):
        if isinstance(t, torch._subclasses.FakeTensor):
            raise RushlightError("bad-argument", f"torch.export kept no values of the tensor {name}. It loses the values of tensors "
                                 "that torch.func and flex_attention create, and of those that a model creates and writes through .data: "
                                 "export the model itself")
        if isinstance(t, torch.Tensor) and t.is_meta:
            raise RushlightError("bad-argument", f"{name} must have values, got a tensor on the meta device: load the weights first")
    for t in pytree.tree_leaves(example_inputs):
        if isinstance(t, torch.Tensor) and t.is_meta:
            raise ValueError("example_inputs must be on the CPU, got a tensor on the meta device, which has no values")


def _is_observer(module):
    return any(c.__name__ in ("ObserverBase", "FakeQuantizeBase") and c.__module__.startswith("torch.ao.quantization")
               for c in type(module).__mro__)
