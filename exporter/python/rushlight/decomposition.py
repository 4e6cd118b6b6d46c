"""Decompositions: operators of your own, written as TorchScript functions of other operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Function = TypeVar("_Function", bound=Callable[..., Any])
_known = {}


def register_decomposition(op: Any) -> Callable[[_Function], _Function]:
    """Registers a function with which export() replaces an operator, so that the file does not need the operator itself.

        @rushlight.register_decomposition("my_ops::scale")
        def scale(x: torch.Tensor, by: float) -> torch.Tensor:
            return x * by

    The function is scripted unless it is a ScriptFunction. It may use control flow, and operators with decompositions. It takes
    positional arguments, one for each of the schema, and returns a tuple if the operator has several results. export() compares the
    file with the operator itself.

    Args:
        op: the full name, "my_ops::f" or "my_ops::f.int" for an overload; or torch.ops.my_ops.f or torch.ops.my_ops.f.int

    Returns:
        A decorator that returns the function unchanged.

    Raises:
        ValueError: the operator already has a decomposition, or `op` is not the name of an operator
        Exception: any error of torch.jit.script
    """
    name = _name_of(op)
    if name in _known:
        raise ValueError(f"{name} already has a decomposition")

    def register(function):
        _known[name] = function if isinstance(function, torch.jit.ScriptFunction) else torch.jit.script(function)
        return function

    return register


def _name_of(op):
    if isinstance(op, torch._ops.OpOverload):
        return op.name()
    if isinstance(op, torch._ops.OpOverloadPacket):
        return op._qualified_op_name
    if not isinstance(op, str) or "::" not in op:
        raise ValueError(f"op must be the name of an operator, such as 'my_ops::f' or 'my_ops::f.int', got {op!r}")
    return op


def decompositions():
    """Returns {name: ScriptFunction}."""
    return dict(_known)
