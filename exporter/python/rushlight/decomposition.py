"""Operators of your own as functions of others, which export() puts in their place."""

import torch

_known = {}


def register_decomposition(op):
    """Says what an operator is made of, so that a file needs no operator that the runtime lacks.

        @rushlight.register_decomposition("my_ops::scale")
        def scale(x: torch.Tensor, by: float) -> torch.Tensor:
            return x * by

    Args:
        op: its full name, "my_ops::f" or with an overload "my_ops::f.int"; or torch.ops.my_ops.f, or torch.ops.my_ops.f.int

    Returns:
        A decorator, which gives the function back as it was.

    Raises:
        ValueError: the operator has a decomposition, or `op` names none

    The function is TorchScript (it is scripted here, if it is not yet) and may use control flow and other operators
    with decompositions. Arguments come by place, as many as the schema has; an operator with several results
    is a function that returns a tuple. export() compares with the operator itself.
    It raises what torch.jit.script raises.
    """
    name = _name_of(op)
    if name in _known:
        raise ValueError(f"{name} has a decomposition already")

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
        raise ValueError(f"an operator is named like 'my_ops::f' or 'my_ops::f.int', not {op!r}")
    return op


def decompositions():
    """{name: ScriptFunction}."""
    return dict(_known)
