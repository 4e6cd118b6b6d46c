"""Makes a graph compute in float64: the same operators on wider tensors.

Its result is almost exact, and shows how far rounding takes PyTorch's own answer.
"""

import functools

import torch

from . import copies, graphs
from .forks import inline_calls_and_forks

_NO_TENSORS = ("IntType", "FloatType", "BoolType", "StringType", "NoneType", "DeviceObjType", "ClassType", "EnumType")
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


def widen(graph):
    """Makes a graph compute in float64; its inputs must be float64, too.

    Raises:
        ValueError: that would change the program
    """
    inline_calls_and_forks(graph)
    torch._C._jit_pass_erase_shape_information(graph)
    for node in graphs.all_nodes(graph.block()):
        _widen_node(graph, node)


def _widen_node(graph, node):
    kind = node.kind()
    if kind == "prim::Constant":
        _widen_constant(graph, node)
        return
    if kind in _COMPARES and any(value.node().kind() == "prim::dtype" for value in node.inputs()):  # x.dtype == torch.float32
        for i in range(2):
            _widen_input(graph, node, i)
    if not _may_take_dtype(kind):
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
    """Whether an overload of the operator has an argument that is a dtype."""
    schemas = torch._C._jit_get_schemas_for_operator(kind)
    return kind == "aten::view" or any(_is_dtype(argument.real_type) for schema in schemas for argument in schema.arguments)


def _is_dtype(type_):
    return (type_.getElementType() if type_.kind() == "OptionalType" else type_).kind() == "ScalarTypeType"


@functools.cache
def _programs():
    unit = torch._C.CompilationUnit()
    made = {}
    for name, source in _WIDE.items():
        unit.define(source, made.get)
        made[name] = unit.find_function(name)
        torch._C._jit_pass_inline(made[name].graph)
    return made


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
