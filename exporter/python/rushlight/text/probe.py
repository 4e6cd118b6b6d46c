"""Runs of a model before its export, which refuse it in words."""

import contextlib

import torch

from ..base.errors import RushlightError, unsupported

WAY_OUT = "export() takes a module that runs one step and keeps the state in buffers: see the guide's page on decoders"
_FAULTS = AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError


@contextlib.contextmanager
def naming_the_model(model):
    """Names the model and the way out if its own code fails, as for a cache or a mask that it does not take."""
    try:
        yield
    except RushlightError:
        raise
    except _FAULTS as error:
        raise unsupported(f"{type(model).__name__} cannot run as export_text() runs it: {type(error).__name__}: {error}. "
                          "export() takes the model itself") from error


@contextlib.contextmanager
def naming_experts(model):
    """Names a model that a trace cannot keep, because its Python code calls only the experts that the example's tokens choose."""
    try:
        yield
    except RushlightError as error:
        if error.specialized is None or not any("experts" in name for name in vars(model.config.get_text_config())):
            raise
        raise unsupported(f"{type(model).__name__} calls in Python only the experts that its tokens choose. A trace keeps the choice of "
                          f"the example, so export_text() does not support this model. {WAY_OUT}") from error


def random_tokens(words, n, padding):
    """Returns tokens [1, n] without padding, at which models such as M2M100 do not count positions."""
    tokens = torch.randint(words, (1, n), generator=torch.Generator().manual_seed(0))
    return tokens if padding is None else torch.where(tokens == padding, (padding + 1) % words, tokens)
