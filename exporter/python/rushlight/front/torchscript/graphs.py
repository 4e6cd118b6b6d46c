"""Reads and rewrites graphs of TorchScript."""

import torch


def all_nodes(block):
    """Returns all nodes in order: a node comes before those in its blocks. The list does not change with the graph."""
    out = []
    for node in block.nodes():
        out.append(node)
        for inner in node.blocks():
            out += all_nodes(inner)
    return out


def has_kind(graph, *kinds):
    """Returns whether a graph has a node of one of these kinds."""
    return any(graph.findNode(kind) is not None for kind in kinds)


def before(graph, node):
    """Returns a context in which new nodes are inserted before a node, or at the end of a block."""
    return graph.insert_point_guard(node)


def add(graph, kind, inputs, types=()):
    """Inserts a node of this kind with a result for each of the types."""
    node = graph.insertNode(graph.create(kind, list(inputs), len(types)))
    for value, type_ in zip(node.outputs(), types):
        value.setType(type_)
    return node


def call(graph, kind, inputs, type_):
    """Inserts a node with one result, and returns that."""
    return add(graph, kind, inputs, [type_]).output()


def get_attr(graph, of, name, type_):
    node = add(graph, "prim::GetAttr", [of], [type_])
    node.s_("name", name)
    return node.output()


def constant_of(value):
    """Returns the constant that a value is, as Python has it, or None if it is None, has no form in Python, or is not a constant."""
    node = value.node()
    if node.kind() != "prim::Constant":
        return None
    if node.hasAttribute("value") and node.kindOf("value") == "t":
        return node.t("value")  # toIValue() gives numbers in place of the tensors that tracing makes of them
    return value.toIValue()


def replace(node, value):
    """Replaces the one result of a node by a value, and removes the node."""
    node.output().replaceAllUsesWith(value)
    node.destroy()


def keep_name(value, other):
    """Gives a value the name of a value of another graph, unless that name is a number: libtorch numbers values without names."""
    if not other.debugName().isdigit():
        value.setDebugName(other.debugName())


def replace_by_call(graph, node, kind, inputs):
    """Replaces a node with one result by a call before it, which keeps its source and the name of its result."""
    with before(graph, node):
        created = graph.insertNode(graph.create(kind, inputs, 1))
    created.copyMetadata(node)
    created.output().copyMetadata(node.output())
    replace(node, created.output())


def must_be_none(value):
    return value.type().kind() == "NoneType" or value.node().mustBeNone()


def has_uses(value):
    return len(value.uses()) > 0


def place_at(block, where):
    """Gives all nodes of a block the source of the node `where`."""
    for node in all_nodes(block):
        node.copyMetadata(where)


def schema_text(node):
    """Returns the schema of a node's operator as text, or "" if there is none."""
    text = node.schema()
    return "" if text == "(no schema)" else text


_parsed = {}


def schema_of(node):
    """Returns the schema of a node's operator, or None if there is none."""
    text = schema_text(node)
    if not text:
        return None
    if text not in _parsed:
        _parsed[text] = torch._C.parse_schema(text)
    return _parsed[text]


def operator_of(node):
    """Returns the name of a node's operator with its overload: "aten::add.Tensor"."""
    return schema_text(node).partition("(")[0] or node.kind()


def insert_graph(graph, program, inputs):
    """Inserts a copy of the nodes of a graph, and returns its results."""
    return graph.insertGraph(program, list(inputs))
