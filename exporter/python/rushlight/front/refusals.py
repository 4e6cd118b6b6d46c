"""PyTorch's messages that this package reacts to, with the reaction to each. No other file looks at the words of a message.

PyTorch has no codes for these errors. `tests/exporter/test_refusals.py` makes PyTorch raise each of them, so that a version with
other words fails there.
"""

from typing import NamedTuple

import torch
from torch.utils import _pytree as pytree

from ..base.errors import unsupported


class Refusal(NamedTuple):
    """A row. First the model is traced again with the patch, if there is one; then the reaction follows."""

    words: str
    """A part of PyTorch's message."""
    patch: str = ""
    """A key of patches.PATCHES, with which the tracer accepts the model."""
    reaction: str = ""
    """"gradients": make_fx captures the model. "int": a warning that int() fixed a size. Others are refusals, see `explained_refusal`:
    "input", "result", "number", "compiled", "dtypes"."""


REFUSALS = (
    Refusal("We don't have an op for", patch="bools"),
    Refusal("to be a single integer value or a list of", patch="lists"),
    Refusal("should contain one int (got 0)", patch="lists"),
    Refusal("must either be a single int", patch="lists"),
    Refusal("must be an int, list of ints or tuple of ints", patch="lists"),
    Refusal("must be bool, not Tensor", patch="comparisons"),
    Refusal("Cannot insert a Tensor that requires grad as a constant", patch="constants", reaction="gradients"),
    Refusal("Cannot access data pointer of Tensor that doesn't have storage", reaction="gradients"),
    Refusal("Unsupported value kind: Tensor", reaction="gradients"),
    Refusal("dynamo-optimized function", patch="compiled functions", reaction="compiled"),
    Refusal("could not find kernel for HigherOrderOperator", reaction="compiled"),
    Refusal("cannot be traced. Only Tensors and", reaction="input"),
    Refusal("can be inputs to traced functions. Got", reaction="input"),
    Refusal("type_ INTERNAL ASSERT", reaction="input"),
    Refusal("Tracer cannot infer type of", reaction="result"),
    Refusal("can be output from traced functions", reaction="result"),
    Refusal("of traced region cannot be understood by the tracer", reaction="result"),
    Refusal("Unable to cast Python instance of type <class 'str'>", reaction="result"),
    Refusal("expected int at position", reaction="number"),
    Refusal("mat1 and mat2 must have the same dtype", reaction="dtypes"),
    Refusal("to have the same dtype", reaction="dtypes"),
    Refusal("mixed dtype (CPU)", reaction="dtypes"),
    Refusal("expected scalar type", reaction="dtypes"),
    Refusal("should be the same", reaction="dtypes"),
    Refusal("to a Python integer", reaction="int"),
)


def _rows(error):
    text = str(error)
    return [row for row in REFUSALS if row.words in text]


def _reactions(error):
    return {row.reaction for row in _rows(error)}


def patches_for(error):
    """Keys of the patches with which the tracer may accept the model."""
    return [row.patch for row in _rows(error) if row.patch]


def is_of_gradients(error):
    """Returns whether the tracer stumbled over gradients, or over a transform of torch.func."""
    return "gradients" in _reactions(error)


def is_of_result(error):
    """Returns whether the tracer has no type for the result of the model."""
    return "result" in _reactions(error)


def is_of_int(warning):
    """Returns whether a TracerWarning says that int() fixed a size."""
    return "int" in _reactions(warning)


def result_error(reason):
    """Returns the error for a result that has no type in TorchScript."""
    return unsupported(f"tracing has no type for the model's result ({reason}): return tensors, numbers and strings, in tuples, "
                       "lists and dicts")


def explained_refusal(error, given):
    """Returns an error with a remedy in place of the tracer's; None for an error that the model itself raised. `given`: its inputs."""
    text, reactions = str(error), _reactions(error)
    untraced = _untraced_types(given)
    if "input" in reactions or ("result" in reactions and untraced):
        return unsupported("inputs of a trace must be tensors, or lists, tuples and dicts of tensors"
                           f"{', got ' + ', '.join(untraced) if untraced else ''}: bind the others (functools.partial, a default), or "
                           "export torch.jit.script(model) or torch.export.export(model, example_inputs), which accept them")
    if "result" in reactions:
        return result_error(text.splitlines()[-1].lstrip(":"))
    if "number" in reactions and text.endswith("but got: Tensor"):
        return unsupported("sizes are tensors while a model is traced, and the model passes one to a function that takes only numbers "
                           f"({text}): export torch.jit.script(model) or torch.export.export(model, example_inputs)")
    if "compiled" in reactions:
        return unsupported("the model calls torch.cond, another higher-order operator, or a function that torch.compile made, which cannot "
                           "be traced: export torch.export.export(model, example_inputs), or call the original function")
    if "dtypes" in reactions:
        return unsupported(f"the model and its example inputs must have the same dtype ({text.splitlines()[0]}): use model.float() and "
                           "float32 inputs")
    return None


def _untraced_types(given):
    """Names of types among the inputs that a trace does not accept."""
    leaves = pytree.tree_leaves(given, is_leaf=lambda value: value is None or (isinstance(value, (list, dict)) and not value))
    return sorted({f"an empty {type(v).__name__}" if isinstance(v, (list, dict)) else type(v).__name__
                   for v in leaves if not isinstance(v, torch.Tensor)})
