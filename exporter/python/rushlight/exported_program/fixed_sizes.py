"""Finds sizes that torch.export fixed without a warning. In Python, int() of a symbolic size gives the size of the example."""

import re

import torch

from ..base import core
from ..base.errors import unsupported
from .guards import fixed_size

# Names of arguments in ATen's schemas.
_SIZES = {"size", "output_size", "shape"}


def refuse_fixed_sizes(program):
    """Raises RushlightError if an operator gets numbers as sizes of its result, at a Python line with int(), although the sizes of its
    operand are dynamic."""
    for node in program.graph.nodes:
        line = _line_of(node)
        if line and re.search(r"\bint\(", line[1]) and _has_open_sizes(node) and _takes_numbers_as_sizes(node):
            raise unsupported(f"torch.export fixed a size at {line[0]}: {line[1]}\nint(...) of a size gives a number, which stays "
                              "the example's: compute sizes with integer operators alone, h // 14 * 14 in place of "
                              "int(h / 14) * 14, and without int() around them; or use torch.export.export(..., strict=True)")


def _line_of(node):
    """Returns ("net.py:12", its text) of the innermost frame outside torch."""
    frames = re.findall(r'File "([^"\n]+)", line (\d+), in \S+\n\s*([^\n]*)', node.meta.get("stack_trace") or "")
    return next(((f"{core.stored_path(file)}:{line}", text) for file, line, text in reversed(frames) if not core.is_torchs_own(file)), None)


def _has_open_sizes(node):
    taken = [a.meta.get("val") for a in node.all_input_nodes]
    return any(fixed_size(n) is None for t in taken if isinstance(t, torch.Tensor) for n in t.shape)


def _takes_numbers_as_sizes(node):
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return False
    given = {a.name: value for a, value in zip(schema.arguments, node.args)} | node.kwargs
    return any(isinstance(value, (list, tuple)) and value and all(isinstance(n, int) and n > 1 for n in value)
               for name, value in given.items() if name in _SIZES)
