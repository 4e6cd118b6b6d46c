"""Describes a program of TorchScript for the exporter: its methods, attributes and texts."""

import torch

from ...base.errors import unsupported
from . import copies, graphs
from .boundary_objects import argument_type
from .constants import holds_objects, tree_of
from .convert import Context, Converter, TensorNames
from .debug_handles import Handles
from .einsum_sublists import einsum_equations
from .forks import inline_calls_and_forks
from .frozen import freeze
from .nested_tensors import pad_nested_tensors
from .objects import objects_as_values, refuse_own_classes
from .operator_programs import decompose
from .places import Place, identity
from .scalar_operands import scalar_operands
from .texts import texts_of_function, texts_of_module
from .type_checks import fold_type_checks
from .types import exported, fields_of, is_program_class, module_attributes


def describe(subject, methods=("forward",), source=True, lines=()):
    """Returns the description that core.export_graph takes.

    Args:
        source: keep Python lines and PyTorch's texts
        lines: replaces places in code that FX generated: {file: {line: (file, line, function)}}

    Raises:
        RushlightError: the model cannot be exported
        ValueError: it has no such method
    """
    of = _function_program if subject.module is None else _module_program
    return of(subject, list(methods), source, dict(lines))


def describe_function(function):
    """Returns the description of a function without lines and texts, as for an operator's program."""
    from .subject import Subject

    return describe(Subject(function), source=False)


def _module_program(subject, methods, source, lines):
    module = subject.module
    stored = texts_of_module(module) if source else []
    handles = Handles(source)
    numbered = {}
    for name in methods:
        numbered[name] = _numbered(subject.method(name).graph(), handles)
    context = Context(handles, _names_of(module))
    work = freeze(module, numbered, subject.train)
    has_objects = _name_objects(module, context.paths)
    frozen = []
    for name in methods:
        graph = work._get_method(name).graph
        torch._C._jit_pass_optimize_frozen_graph(graph, False)  # fold_batch_norm does the numerics
        _simplify(graph, handles)
        frozen.append(graph)
    context.as_values = objects_as_values(work, frozen) if has_objects else set()
    described = [_method(name, graph, subject.method(name), work, context, source, lines) for name, graph in zip(methods, frozen)]
    return _description(described, context, stored)


def _function_program(subject, methods, source, lines):
    handles = Handles(source)
    method = subject.method("forward")
    stored = texts_of_function(subject.function) if source else []
    graph = _numbered(method.graph(), handles)
    _simplify(graph, handles)
    context = Context(handles)
    return _description([_method("forward", graph, method, None, context, source, lines)], context, stored)


def _description(methods, context, texts):
    version = torch.__version__.partition("+")[0]
    return {"methods": methods, "attributes": context.attributes, "texts": texts, "meta": [("producer", "rushlight"), ("torch", version)]}


def _numbered(graph, handles):
    torch._C._jit_pass_erase_shape_information(graph)
    handles.number(graph)
    scalar_operands(graph)
    return graph


def _names_of(module):
    names = TensorNames()
    for name, tensor in copies.named_tensors(module):
        names.add(tensor, name)
    return names


def _name_objects(module, paths):
    """Names the objects that are values of attributes. Returns whether attributes hold objects, also in containers."""
    found = False
    for path, inner in copies.named_modules(module):
        for name, type_ in module_attributes(inner).items():
            found = found or holds_objects(type_)
            if is_program_class(type_):
                key = identity(Place(inner._type(), inner).attribute(name, type_))
                paths.setdefault(key, f"{path}.{name}" if path else name)
    return found


def _simplify(graph, handles):
    for value in graph.inputs():
        value.setType(argument_type(value.type()))
    inline_calls_and_forks(graph)
    pad_nested_tensors(graph, handles)
    decompose(graph)
    _lower_simple_tuples(graph)
    _fold_until_stable(graph)
    while fold_type_checks(graph):
        _fold_until_stable(graph)
    einsum_equations(graph)


def _fold_until_stable(graph):
    before, count = -1, 0
    while before != count:
        _fold(graph)
        before, count = count, len(graphs.all_nodes(graph.block()))


def _fold(graph):
    """Folds constants, and drops dead nodes with an analysis of aliases. libtorch's pass does the latter only if it has folded, so that
    it gets something to fold."""
    with graphs.before(graph, next(graph.nodes(), graph.return_node())):
        graphs.call(graph, "aten::__not__", [graph.insertConstant(True)], torch._C.BoolType.get())
    torch._C._jit_pass_constant_propagation(graph)


def _lower_simple_tuples(graph):
    """Takes items out of tuples that are made in the graph. libtorch's pass of this name has no Python form."""
    if not graphs.has_kind(graph, "prim::TupleConstruct"):
        return
    for node in graphs.all_nodes(graph.block()):
        if node.kind() not in ("prim::TupleUnpack", "prim::TupleIndex", "prim::TupleSlice"):
            continue
        construct = node.inputsAt(0).node()
        if construct.kind() != "prim::TupleConstruct":
            continue
        items = list(construct.inputs())
        if node.kind() == "prim::TupleUnpack":
            for output, item in zip(node.outputs(), items):
                output.replaceAllUsesWith(item)
        elif node.kind() == "prim::TupleIndex":
            i = graphs.constant_of(node.inputsAt(1))
            if isinstance(i, int) and -len(items) <= i < len(items):
                node.output().replaceAllUsesWith(items[i])
        else:
            _lower_slice(graph, node, items[node.i("beg"):node.i("end")])


def _lower_slice(graph, node, items):
    with graphs.before(graph, node):
        part = graphs.call(graph, "prim::TupleConstruct", items, torch._C.TupleType([item.type() for item in items]))
    part.node().copyMetadata(node)
    node.output().replaceAllUsesWith(part)


def _method(name, graph, method, module, context, source, lines):
    converter = Converter(context, module, source, lines)
    built = converter.run(graph)
    inputs = [_input(a) for a in method.arguments]
    result = next(graph.outputs())
    outputs = [] if result.type().kind() == "NoneType" or _is_none(result) else _outputs(result, {port["name"] for port in inputs})
    for argument in method.arguments:
        type_ = argument_type(argument.type)
        refuse_own_classes(type_, f"the input '{argument.name}'")
        if type_.kind() == "DeviceObjType":
            raise unsupported(f"the input '{argument.name}' must not be a torch.device, because a file runs on the CPU alone: use "
                              "torch.device('cpu') in the program")
    refuse_own_classes(result.type(), f"the result of {name}")
    return {"name": name, "graph": built, "inputs": inputs, "outputs": outputs}


def signature(method):
    """Returns the inputs of a method, with their types."""
    return [{**_input(a), "type": exported(argument_type(a.type))} for a in method.arguments]


def _is_none(value):
    return value.node().mustBeNone()


def _input(argument):
    port = {"name": argument.name}
    if argument.has_default:
        port["default"] = tree_of(argument.default, argument_type(argument.type))
    return port


def _outputs(result, taken):
    """Returns the outputs: one for each item of a tuple."""
    type_ = result.type()
    is_tuple = type_.kind() == "TupleType"
    types = type_.containedTypes() if is_tuple else [type_]
    fields = fields_of(type_) if is_tuple else None
    if fields:
        names = fields
    elif not is_tuple:
        names = [_readable_name(result)]
    elif result.node().kind() == "prim::TupleConstruct":
        names = [_readable_name(value) for value in result.node().inputs()]
    else:
        names = [""] * len(types)
    unique = len(set(names)) == len(names) and all(name and name not in taken for name in names)
    if not unique and not fields:
        names = [f"output_{i}" for i in range(len(types))] if is_tuple else ["output"]
    return [{"name": name, "type": exported(inner)} for name, inner in zip(names, types)]


def _readable_name(value):
    """Returns "x" of "x.3", or "" if PyTorch's name is only a number."""
    name = value.debugName().partition(".")[0]
    return name if name.strip("0123456789_") and name not in ("input", "self") else ""
