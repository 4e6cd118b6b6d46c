"""The front for modules and functions in Python: torch.jit.trace, or make_fx for a model that computes gradients."""

import torch

from ..base import torch_messages
from ..base.errors import RushlightError, unsupported
from . import gradients
from .captured import Captured
from .model_state import reference_of
from .make_fx_patches import GradientsTaken
from .tracer import recorder, traced


def capture_traced(model, example_inputs, train, names=None):
    """Traces a module or function.

    Raises:
        TypeError: it is neither
        ValueError: there are no example inputs
        RushlightError: neither tracer can record it
    """
    if isinstance(model, type):
        raise TypeError(f"cannot export the class {model.__name__}: export an instance of it, {model.__name__}(...)")
    if not callable(model):
        raise TypeError(f"cannot export an object of type {type(model).__name__}{_advice_on_weights(model)}")
    if example_inputs is None:
        raise ValueError("example_inputs must be given for a model that is traced, got None")
    reference = reference_of(model, train, names)
    reference.probe([("forward", tuple(example_inputs))])
    try:
        script, warnings, notes = traced(model, example_inputs, train, recorder(names, reference), ("refused gradients",), reference.lent)
        return Captured(script, "traced", reference, warnings, notes)
    except Exception as error:  # errors of the model have any type
        if not _needs_gradients(error):
            raise
    return _captured_with_gradients(model, example_inputs, train, names, reference)


def _needs_gradients(error):
    return isinstance(error, GradientsTaken) or torch_messages.concerns_gradients(error)


def _advice_on_weights(model):
    has_tensors = isinstance(model, dict) and any(isinstance(value, torch.Tensor) for value in model.values())
    return ": it holds weights, which a model takes with load_state_dict()" if has_tensors else ""


def _captured_with_gradients(model, example_inputs, train, names, reference):
    try:
        return gradients.capture_with_gradients(model, example_inputs, train, names, reference)
    except RushlightError:
        raise
    except Exception as error:  # make_fx raises errors of many types
        refusal = error
    try:
        script, warnings, notes = traced(model, example_inputs, train, recorder(names, reference), only_read=reference.lent)
        return Captured(script, "traced", reference, warnings, notes)
    except RuntimeError as error:
        if isinstance(error, RushlightError) or not _needs_gradients(error):
            raise
        reasons = [str(e).strip().partition("\n")[0] or type(e).__name__ for e in (error, refusal)]
        raise unsupported(f"forward computes gradients or uses torch.func, and neither torch.jit.trace ({reasons[0]}) nor make_fx "
                          f"({reasons[1]}) can record it: compute the gradients without branches on values and without writes to "
                          "the model's tensors, or in operators of your own") from refusal
