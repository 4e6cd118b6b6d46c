"""Outputs by name: a traced model returns a dict whose keys are constants."""

from . import graphs
from ..captured import are_names
from .named_tuples import named_tuple


def gives_fields(graph):
    """Returns whether the graph returns a dict whose keys can be the names of outputs. A named tuple has no fields of type Any."""
    construct = next(graph.outputs()).node()
    if construct.kind() != "prim::DictConstruct":
        return False
    keys, values = list(construct.inputs())[::2], list(construct.inputs())[1::2]
    return are_names([graphs.constant_of(key) for key in keys]) and not any(_holds_any(value.type()) for value in values)


def _holds_any(type_):
    return type_.kind() == "AnyType" or any(map(_holds_any, type_.containedTypes()))


def give_fields(graph):
    """Makes the dict that the graph returns a named tuple."""
    construct = next(graph.outputs()).node()
    keys, values = list(construct.inputs())[::2], list(construct.inputs())[1::2]
    fields = named_tuple("Output", [graphs.constant_of(key) for key in keys], [value.type() for value in values])
    with graphs.before(graph, graph.return_node()):
        graph.return_node().replaceInput(0, graphs.call(graph, "prim::TupleConstruct", values, fields))
