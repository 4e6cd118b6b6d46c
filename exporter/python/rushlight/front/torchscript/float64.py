"""Makes a graph compute in float64: the same operators on wider tensors.

Its result is almost exact, and shows how far rounding takes PyTorch's own answer.
"""

import functools
from typing import Optional

import torch

from . import copies, graphs
from .forks import inline_calls_and_forks

_NO_TENSORS = ("IntType", "FloatType", "BoolType", "StringType", "NoneType", "DeviceObjType", "ClassType", "EnumType")
_FLOAT64 = 7
_COMPARES = ("aten::eq", "aten::ne")
# The numbers of dtypes: 5, 6 and 15 are floating-point, 7 is float64, 8 and 9 are complex, 10 is complex128.
_WIDE = {"wide_dtype": """
def wide_dtype(dtype: int) -> int:
    if dtype == 5 or dtype == 6 or dtype == 15:
        return 7
    if dtype == 8 or dtype == 9:
        return 10
    return dtype
""", "wide_optional": """
def wide_optional(dtype: Optional[int]) -> Optional[int]:
    if dtype is None:
        return None
    return wide_dtype(dtype)
"""}


def widen(graph, narrow=()):
    """Makes a graph compute in float64; its inputs must be float64, too, except for the results of the nodes `narrow`, which are
    converted where they are used.

    Raises:
        ValueError: that would change the program
    """
    inline_calls_and_forks(graph)
    torch._C._jit_pass_erase_shape_information(graph)
    for node in narrow:
        _widen_uses(graph, node.output())
    for node in graphs.all_nodes(graph.block()):
        _widen_node(graph, node)


def _widen_uses(graph, value):
    for node in [use.user for use in value.uses() if _is_cast_of_weight(use.user)]:
        graphs.replace(node, value)
    for use in value.uses():
        node, i = use.user, use.offset
        if node.kind() == "aten::linear" and i == 1:
            with graphs.before(graph, node):
                result = graphs.insert_graph(graph, _linear_by_rows().graph, node.inputs())[0]
            graphs.replace(node, result)
        elif node.kind() == "aten::embedding" and i == 0:
            _widen_result(graph, node)
        else:
            with graphs.before(graph, node):
                node.replaceInput(i, _in_double(graph, value))


def _is_cast_of_weight(node):
    """Returns whether it only converts its input for linear layers."""
    return node.kind() == "aten::to" and all(use.user.kind() == "aten::linear" and use.offset == 1 for use in node.output().uses())


def _in_double(graph, value):
    false = graph.insertConstant(False)
    return graphs.call(graph, "aten::to", [value, graph.insertConstant(_FLOAT64), false, false, graph.insertConstant(None)],
                       torch._C.TensorType.get())


def _widen_result(graph, node):
    output = node.output()
    with graphs.before(graph, node):
        wide = _in_double(graph, output)
    wide.node().moveAfter(node)
    for use in output.uses():
        if use.user != wide.node():
            use.user.replaceInput(use.offset, wide)


@functools.cache
def _linear_by_rows():
    """Returns a linear layer that converts few rows of its weight at a time."""
    function = torch.jit.script(_linear)
    torch._C._jit_pass_inline(function.graph)
    return function


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]):
    parts = [input.matmul(rows.to(torch.float64).t()) for rows in weight.split(max(1, (1 << 22) // max(1, weight.size(1))))]
    out = torch.cat(parts, -1)
    return out if bias is None else out + bias


def _widen_node(graph, node):
    kind = node.kind()
    if kind == "prim::Constant":
        _widen_constant(graph, node)
        return
    if kind in _COMPARES and any(value.node().kind() == "prim::dtype" for value in node.inputs()):  # x.dtype == torch.float32
        for i in range(2):
            _widen_input(graph, node, i)
    if kind.startswith("aten::") and not _may_take_dtype(kind):
        return
    schema = graphs.schema_of(node)
    if schema is None:
        return
    if kind == "aten::view" and schema.overload_name == "dtype":
        raise ValueError("the program reads the bits of numbers (view)")
    for i, argument in enumerate(schema.arguments[:node.inputsSize()]):
        if _is_dtype(argument.real_type):
            _widen_input(graph, node, i)


@functools.cache
def _may_take_dtype(kind):
    """Returns whether an overload of PyTorch's operator has an argument that is a dtype."""
    schemas = torch._C._jit_get_schemas_for_operator(kind)
    return kind == "aten::view" or any(_is_dtype(argument.real_type) for schema in schemas for argument in schema.arguments)


def _is_dtype(type_):
    return (type_.getElementType() if type_.kind() == "OptionalType" else type_).kind() == "ScalarTypeType"


@functools.cache
def _programs():
    unit = torch._C.CompilationUnit()
    created = {}
    for name, source in _WIDE.items():
        unit.define(source, created.get)
        created[name] = unit.find_function(name)
        torch._C._jit_pass_inline(created[name].graph)
    return created


def _widen_input(graph, node, i):
    """An input that is an int is a dtype, or it is None."""
    value = node.inputsAt(i)
    if value.type().kind() not in ("IntType", "OptionalType"):
        return
    program = _programs()["wide_dtype" if value.type().kind() == "IntType" else "wide_optional"]
    with graphs.before(graph, node):
        node.replaceInput(i, graphs.insert_graph(graph, program.graph.copy(), [value])[0])


def _widen_constant(graph, node):
    if node.output().type().kind() in _NO_TENSORS:
        return
    value = graphs.constant_of(node.output())
    if value is None or not copies.has_tensors(value):
        return
    wider = copies.in_double(value)
    with graphs.before(graph, node):
        try:
            constant = graph.insertConstant(wider)
        except RuntimeError as error:
            raise ValueError("it has a constant without a float64 form") from error
    constant.setType(torch._C.TensorType.get() if isinstance(value, torch.Tensor) else node.output().type())
    node.output().replaceAllUsesWith(constant)
