"""torch.einsum with lists of subscripts, as torch.einsum with an equation.

TorchScript has `torch.einsum(a, [0, 1], b, [1, 2], [0, 2])` as aten::einsum.sublist, whose operands and lists alternate. libtorch writes
the equation "AB,BC->AC" for it when it runs (torch/csrc/jit/runtime/vararg_functions.cpp, einsum).
"""

import string

import torch

from . import graphs

_SUBSCRIPTS = string.ascii_uppercase + string.ascii_lowercase


def einsum_equations(graph):
    """Replaces the calls whose lists are constants. The others stay, and are refused by name."""
    for node in graph.findAllNodes("aten::einsum"):
        inputs = list(node.inputs())
        if inputs[0].type().kind() != "TensorType":
            continue
        count = len(inputs) // 2 * 2
        labels = [_labels(value) for value in inputs[1:count:2]]
        output = _labels(inputs[-1]) if len(inputs) > count else ""
        if None not in labels and output is not None:
            equation = ",".join(labels) + (f"->{output}" if len(inputs) > count else "")
            _replace(graph, node, equation, inputs[:count:2])


def _labels(value):
    """Returns the letters of a constant list of subscripts from 0 to 51, or None for other values."""
    subscripts = graphs.constant_of(value)
    if not isinstance(subscripts, list) or not all(0 <= i < len(_SUBSCRIPTS) for i in subscripts):
        return None
    return "".join(_SUBSCRIPTS[i] for i in subscripts)


def _replace(graph, node, equation, operands):
    with graphs.before(graph, node):
        tensors = graphs.call(graph, "prim::ListConstruct", operands, torch._C.ListType(torch._C.TensorType.get()))
        inputs = [graph.insertConstant(equation), tensors, graph.insertConstant(None)]
    graphs.replace_by_call(graph, node, "aten::einsum", inputs)
