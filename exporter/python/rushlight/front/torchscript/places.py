"""Values that Python cannot hold: objects of the program's classes, and the contents of attributes and constants.

A place says how a graph reaches a value. Reading it runs such a graph.
"""

import re

import torch

from . import graphs

_ANY = torch._C.AnyType.get()


class Place:
    """How to reach a value from a module, or from a constant of a graph."""

    def __init__(self, type_, module=None, node=None, steps=()):
        self.type, self.module, self.node, self.steps = type_, module, node, steps

    def attribute(self, name, type_):
        return self._step(type_, lambda graph, value: graphs.get_attr(graph, value, name, type_))

    def item(self, i, type_):
        """Returns the item of a list."""
        return self._step(type_, lambda graph, value: graphs.call(
            graph, "aten::__getitem__", [value, graph.insertConstant(i)], type_))

    def element(self, i, type_):
        """Returns the element of a tuple."""
        return self._step(type_, lambda graph, value: graphs.call(
            graph, "prim::TupleIndex", [value, graph.insertConstant(i)], type_))

    def values(self, item_type):
        """Returns the list of the values of a dict."""
        type_ = torch._C.ListType(item_type)
        return self._step(type_, lambda graph, value: graphs.call(graph, "aten::values", [value], type_))

    def operator(self, kind, type_, *more):
        """Returns the result of an operator on the value and constants."""
        return self._step(type_, lambda graph, value: graphs.call(
            graph, kind, [value, *map(graph.insertConstant, more)], type_))

    def _step(self, type_, step):
        return Place(type_, self.module, self.node, (*self.steps, step))

    def add_to(self, graph, given):
        """Adds the nodes that reach the value. `given`: the inputs of the graph by module."""
        if self.node is not None:
            value = graph.insertNode(graph.createClone(self.node, lambda v: v)).output()
        else:
            value = given(self.module)
        for step in self.steps:
            value = step(graph, value)
        return value


def run(build):
    """Returns the result of a graph. build(graph, given) adds its nodes and returns its result, given(module) is the value of a module."""
    graph = torch._C.Graph()
    inputs = []

    def given(module):
        inputs.append(module)
        value = graph.addInput()
        value.setType(module._type())
        return value

    graph.registerOutput(build(graph, given))
    return torch._C._jit_interpret_graph(graph, tuple(inputs))


def read(place):
    """Returns the value at a place, as Python has it."""
    return run(place.add_to)


def length(place):
    """Returns the number of items of a list."""
    return read(place.operator("aten::len", torch._C.IntType.get()))


def are_same(a, b):
    """Returns whether two places hold the same list, dict or object."""
    return run(lambda graph, given: graphs.call(graph, "aten::__is__", [a.add_to(graph, given), b.add_to(graph, given)],
                                                torch._C.BoolType.get()))


def identity(place):
    """Returns a text that identifies a living object."""
    if place.node is not None and not place.steps:
        address = re.search(r"object\((0x[0-9a-f]+)\)", repr(place.node))
        if address:
            return address[1]
    text = read(place.operator("aten::str", torch._C.StringType.get()))
    return text.rpartition(" object at ")[2].rstrip(">")
