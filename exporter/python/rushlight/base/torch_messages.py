"""The messages of PyTorch by which this package decides. No other file looks at the words of a message, which tests/lint checks.

PyTorch has no codes for these errors. `tests/exporter/test_refusals.py` makes PyTorch raise those of REFUSALS, so that a version with
other words fails there.
"""

import re
import sys
from typing import NamedTuple


class Refusal(NamedTuple):
    """A row. First the model is traced again with the patch, if there is one; then the reaction follows."""

    words: str
    """A part of PyTorch's message."""
    patch: str = ""
    """A key of patches.PATCHES, with which the tracer accepts the model."""
    reaction: str = ""
    """"gradients": make_fx captures the model. "int": a warning that int() fixed a size. For others see
    refusals.explained_refusal: "input", "result", "number", "compiled", "dtypes"."""


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


def reactions_to(error):
    """Returns the reactions to an error or a warning."""
    return {row.reaction for row in _rows(error)}


def patches_for(error):
    """Returns keys of the patches with which the tracer may accept the model."""
    return [row.patch for row in _rows(error) if row.patch]


def concerns_gradients(error):
    """Returns whether the tracer stumbled over gradients, or over a transform of torch.func."""
    return "gradients" in reactions_to(error)


def concerns_result(error):
    """Returns whether the tracer has no type for the result of the model."""
    return "result" in reactions_to(error)


def concerns_int(warning):
    """Returns whether a TracerWarning says that int() fixed a size."""
    return "int" in reactions_to(warning)


def concerns_number(error):
    """Returns whether a function that takes a number received a tensor."""
    return "number" in reactions_to(error) and str(error).endswith("but got: Tensor")


_OPERATOR = re.compile(r"Unknown (?:builtin )?op(?:erator)?:? '?([\w:]+)")
_CLASS = re.compile(r"Unknown type name '__torch__\.(torch\.classes\.[\w.]+)")


def missing_operator(error):
    """Returns the operator that torch.jit.load does not know, or None."""
    found = _OPERATOR.search(str(error))
    return found and found[1]


def unknown_class(error):
    """Returns the class of torch.classes that torch.jit.load does not know, or None."""
    found = _CLASS.search(str(error))
    return found and found[1]


_TRACEBACK = "The following operation failed in the TorchScript"
_LAST = "\nRuntimeError: "


def reason_of(error):
    """Returns the message of an error of PyTorch's without the traceback of TorchScript."""
    text = str(error)
    if not text.startswith(_TRACEBACK):
        return text.rstrip("\n")
    raised = sys.modules["torch"]._C._get_caught_jit_exception_original_msg()
    if raised and text.endswith(raised + "\n"):  # by the program
        return raised
    return text.rpartition(_LAST)[2].rstrip("\n") if _LAST in text else text.rstrip("\n")
