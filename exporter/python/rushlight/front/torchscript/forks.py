"""torch.jit.fork and wait without a thread pool: forked code runs in place.

Code that torch.jit._awaitable defers runs in place, too, if that has no visible effect.
"""

import torch

from . import graphs
from .calls import inline_calls
from .types import fields_of

_MAKES = ("prim::fork", "prim::awaitable")
_WAITS = ("aten::wait", "prim::awaitable_wait", "prim::awaitable_nowait")
# Nodes without a mutable schema that act (Node::hasSideEffects in torch/csrc/jit/ir/ir.cpp).
_ACTS = {"prim::IgnoredPythonOp", "prim::PythonOp", "prim::Print", "prim::RaiseException", "prim::SetAttr", "prim::CallFunction",
         "prim::CallMethod", "prim::Enter", "prim::Exit", "prim::AddStatValue", "prim::TimePoint", "prim::BailOut", "prim::BailoutTemplate",
         "prim::rpc_async", "prim::rpc_sync", "prim::rpc_remote", "aten::warn", "aten::save", "aten::manual_seed", "aten::wait"}


def without_futures(type_):
    """Returns the type in which a future is its value."""
    kind = type_.kind()
    if kind in ("FutureType", "AwaitType"):
        return without_futures(type_.containedTypes()[0])
    if kind not in _MAKE:
        return type_
    inner = type_.containedTypes()
    items = [without_futures(t) for t in inner]
    if all(a is b or a == b for a, b in zip(items, inner)) or (kind == "TupleType" and fields_of(type_) is not None):
        return type_
    return _MAKE[kind](items)


_MAKE = {
    "ListType": lambda items: torch._C.ListType(items[0]),
    "OptionalType": lambda items: torch._C.OptionalType(items[0]),
    "DictType": lambda items: torch._C.DictType(*items),
    "TupleType": torch._C.TupleType,
    "UnionType": torch._C.UnionType,
}


def inline_calls_and_forks(graph):
    """Inlines all calls. Forked code runs in place, and waiting returns its value."""
    inline_calls(graph)
    while graphs.has_kind(graph, *_MAKES, *_WAITS) and _run_block_in_place(graph, graph.block()):
        inline_calls(graph)


def _has_side_effects(block):
    """Returns whether a node writes, prints, raises or draws random numbers, so that its time of execution matters."""
    for node in graphs.all_nodes(block):
        schema = graphs.schema_of(node)
        if node.kind() in _ACTS or node.isNondeterministic() or (schema is not None and schema.is_mutable):
            return True
    return False


def _can_run_in_place(node):
    if node.kind() == "prim::fork":
        return True
    if node.kind() != "prim::awaitable":
        return False
    program = node.g("Subgraph")
    inline_calls(program)
    return not _has_side_effects(program.block())


def _run_block_in_place(graph, block):
    changed = False
    _drop_futures(block.inputs())
    for node in list(block.nodes()):
        changed = _run_node_in_place(graph, node) or changed
    return changed


def _drop_futures(values):
    for value in values:
        without = without_futures(value.type())
        if without is not value.type():
            value.setType(without)


def _run_node_in_place(graph, node):
    changed = False
    for inner in node.blocks():
        changed = _run_block_in_place(graph, inner) or changed
    _drop_futures(node.outputs())
    if node.kind() in _WAITS:
        graphs.replace(node, node.input())
        return True
    if not _can_run_in_place(node):
        return changed
    with graphs.before(graph, node):
        results = graphs.insert_graph(graph, node.g("Subgraph"), node.inputs())
    created = results[0]
    graphs.replace(node, created)
    return True
