"""Constant 0-d operands as numbers.

A trace of `x + 0.5` has a 0-d tensor. A constant 0-d second operand of functional add, sub, mul and div becomes a number, as in each
graph that PyTorch's executor runs (torch/csrc/jit/passes/canonicalize_graph_fuser_ops.cpp, CanonicalizeOps). This applies to constants
of the trace only. Constants that freezing makes, of an attribute or torch.tensor(2.5), stay tensors, whose dtype counts.
"""

import torch

from . import graphs

_KINDS = ("aten::add", "aten::sub", "aten::mul", "aten::div")


def scalar_operands(graph):
    """Replaces the operands. It must run before constants are folded."""
    for kind in _KINDS:
        for node in graph.findAllNodes(kind):
            _make_scalar(graph, node)


def _make_scalar(graph, node):
    value = graphs.constant_of(node.inputsAt(1))
    if not isinstance(value, torch.Tensor) or value.dim() != 0 or value.is_complex() or value.dtype == torch.bool:
        return  # no operator takes a bool as its number
    if graphs.operator_of(node) != f"{node.kind()}.Tensor":
        return
    with graphs.before(graph, node):
        inputs = list(node.inputs())
        inputs[1] = graph.insertConstant(value.item())
    graphs.replace_by_call(graph, node, node.kind(), inputs)
