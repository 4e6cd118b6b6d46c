"""Operators that are programs of other operators, written in TorchScript (operators/)."""

import ast
import functools
import pathlib
import re
import types

import torch

from ...base import core
from . import graphs
from .debug_handles import keep_handle
from .packed_weights import is_qnnpack, unpacked_inputs

_FOLDER = pathlib.Path(__file__).with_name("operators")
_OF_COMPLEX = "of_complex"
_SPACES = ("quantized_decomposed", "quantized", "quant", "prim")


@functools.cache
def sources():
    """Returns {name: source} of all functions in operators/, sorted by name."""
    out = {}
    for file in sorted(_FOLDER.glob("*.py")):
        text = file.read_text()
        lines = text.splitlines(keepends=True)
        for node in ast.parse(text, file.name).body:
            if not isinstance(node, ast.FunctionDef):
                raise SyntaxError(f"{file.name}:{node.lineno}: the file must contain only functions, got {type(node).__name__}")
            if node.name in out:
                raise SyntaxError(f"{file.name}:{node.lineno}: a function of the name {node.name} exists already")
            out[node.name] = f"# {file.name}:{node.lineno}\n{''.join(lines[node.lineno - 1:node.end_lineno])}"
    return dict(sorted(out.items()))


@functools.cache
def _operators():
    """Returns the names of operators that have programs, for some overloads at least."""
    return {name.partition("__")[0] or name for name in sources()} | set(sources())


class _Operators(types.ModuleType):
    """The module `torch` or `rush` of programs: the operators of a namespace, and dtypes."""

    def __init__(self, name, space):
        super().__init__(name)
        self.__dict__["_operators"] = getattr(torch.ops, space)

    def __getattr__(self, name):
        dtype = getattr(torch, name, None)
        return dtype if isinstance(dtype, torch.dtype) else getattr(self._operators, name)


@functools.cache
def _library():
    """TorchScript compiles calls of registered operators only: registers those of the runtime that programs call."""
    library = torch.library.Library("rush", "FRAGMENT")
    for name in sorted({name for source in sources().values() for name in re.findall(r"\brush\.(\w+)", source)}):
        schema = core.op_schema(f"rush::{name}")
        if schema and not torch._C._jit_get_schemas_for_operator(f"rush::{name}"):
            library.define(schema.removeprefix("rush::"))
    return library


class _Programs:
    """The programs. Each is compiled when it is needed first, also by another program."""

    def __init__(self):
        self.unit = torch._C.CompilationUnit()
        self.created = {}
        self.names = {"torch": _Operators("torch", "aten"), "rush": _Operators("rush", "rush")}

    def find(self, name):
        """Returns the program of that name, or None if there is none."""
        if name not in self.created:
            self.created[name] = self._compiled(name) if name in sources() else None
        return self.created[name]

    def _compiled(self, name):
        _library()
        self.unit.define(sources()[name], lambda other: self.names.get(other) or self.find(other))
        function = self.unit.find_function(name)
        torch._C._jit_pass_inline(function.graph)
        return function

    def find_for(self, op, name, overload, arguments):
        """Returns the program of an overload of `op`.

        Overloads that mix complex and other numbers use the complex one. An overload without a program and without a function in the
        runtime uses the program of its operator (aten::gcd takes tensors, aten::gcd.int numbers).
        """
        found = self.find(f"{name}__{overload}") if overload else None
        if not found and "complex" in overload:
            found = self.find(f"{name}__complex")
        if not found and overload and core.has_op(f"{op}.{overload}"):
            return None
        found = found or self.find(name)
        return found if found and len(found.schema.arguments) == arguments else None


_programs = _Programs()


def _program_name(op):
    """Returns NAME for "aten::NAME", NAMESPACE_NAME for other namespaces; "" for a namespace without programs."""
    if op in ("quantized::add", "quantized::add_relu") and is_qnnpack():
        return f"{op.replace('::', '_')}_by_qnnpack"
    space, _, name = op.partition("::")
    return name if space == "aten" else f"{space}_{name}" if space in _SPACES else ""


def _is_complex(value):
    """Returns whether it is known to be complex: from a constant, or from tracing."""
    constant = graphs.constant_of(value)
    if constant is not None:
        return isinstance(constant, torch.Tensor) and constant.is_complex()
    return value.type().kind() == "TensorType" and (value.type().scalarType() or "").startswith("Complex")


def _complex_name(name, overload):
    """Returns the name of a program for an operator with a complex weight: "conv2d__of_complex", "conv2d__padding_of_complex"."""
    return f"{name}__{overload}_{_OF_COMPLEX}" if overload else f"{name}__{_OF_COMPLEX}"


def _program_of(node, inputs):
    """Returns (program, inputs) of a node, or None if it has none. Later versions of PyTorch append arguments to operators. If a
    call leaves them at None, they are removed from the inputs."""
    op = node.kind()
    name = _program_name(op)
    overload = graphs.operator_of(node).partition(".")[2]
    if len(inputs) > 1 and _programs.find(_complex_name(name, overload)) and _is_complex(inputs[1]):
        return _programs.find(_complex_name(name, overload)), inputs
    found = _programs.find_for(op, name, overload, len(inputs))
    if found or core.has_op(f"{op}.{overload}" if overload else op):
        return found and (found, inputs)
    found = _programs.find(f"{name}__{overload}" if overload else name)
    count = len(found.schema.arguments) if found else len(inputs)
    if count >= len(inputs) or not all(map(graphs.must_be_none, inputs[count:])):
        return None
    return found, inputs[:count]


def insert_program(graph, name, inputs, where):
    """Inserts the program of this name with the source of the node `where`, and returns its results."""
    return _insert(graph, _programs.find(name), inputs, where)


def _insert(graph, function, inputs, where):
    program = function.graph.copy()
    graphs.place_at(program.block(), where)
    return graphs.insert_graph(graph, program, inputs)


def decompose(graph):
    """Replaces operators by their programs: losses, fused attention."""
    _decompose_block(graph, graph.block())


def _decompose_block(graph, block):
    for node in list(block.nodes()):
        for inner in node.blocks():
            _decompose_block(graph, inner)
        _decompose_node(graph, node)


def _decompose_node(graph, node):
    if _program_name(node.kind()) not in _operators():
        return
    with graphs.before(graph, node):
        found = _program_of(node, unpacked_inputs(graph, node))
        if found is None:
            return
        results = _insert(graph, *found, node)
        outputs = list(node.outputs())
        if len(outputs) > 1:
            types = results[0].type().containedTypes()
            items = list(graphs.add(graph, "prim::TupleUnpack", results, types).outputs())
        else:
            items = results
            keep_handle(results[0].node(), node)
    for output, item in zip(outputs, items):
        output.replaceAllUsesWith(item)
    node.destroy()


# ---- for other fronts, and for the exporter's passes


def _parts(op):
    base, _, overload = op.partition(".")
    return base, overload


def for_complex(op):
    """Returns the operator whose program computes with complex numbers, "aten::conv2d.of_complex" for "aten::conv2d", if operators/
    has one; else `op`."""
    base, overload = _parts(op)
    name = _program_name(base)
    if not name or not _programs.find(_complex_name(name, overload)):
        return op
    return f"{base}.{overload}_{_OF_COMPLEX}" if overload else f"{base}.{_OF_COMPLEX}"


def _for_any_dtype(op):
    base, overload = _parts(op)
    if not overload.endswith(_OF_COMPLEX):
        return op
    own = overload[:-len(_OF_COMPLEX)].rstrip("_")
    return f"{base}.{own}" if own else base


def program_of(op):
    """Returns the program of an operator as a TorchScript function, or None if operators/ has none."""
    base, overload = _parts(op)
    name = _program_name(base) if "::" in op else ""
    count = _argument_count(_for_any_dtype(op)) if name in _operators() else None
    return None if count is None else _programs.find_for(base, name, overload, count)


def _argument_count(op):
    base, overload = _parts(op)
    known = (s for s in torch._C._jit_get_schemas_for_operator(base) if s.overload_name == overload)
    return next((len(s.arguments) for s in known), None)


def names():
    return list(sources())


def schema(name):
    """Returns the schema of a program, which this compiles."""
    return str(_programs.find(name).schema)
