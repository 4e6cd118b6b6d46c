"""Which nodes of an ExportedProgram share their elements, and which of these an operator writes."""

import operator

import torch
import torch.fx

# The first result is the argument itself.
SAME = {"aten::lift_fresh", "aten::lift", "aten::detach_", "aten::requires_grad_"}
# They may give their argument, and their schemas do not say so.
PASSING = {"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout",
           "aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d", "aten::broadcast_tensors", "aten::meshgrid"}


def is_writing(node):
    """Whether the node's operator writes its arguments."""
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable and target.name() not in SAME


def graphs_of(module):
    """The GraphModule and those inside it; of anything else none."""
    return [m for m in module.modules() if isinstance(m, torch.fx.GraphModule)] if isinstance(module, torch.nn.Module) else []


def writes(module):
    return any(is_writing(n) for graph in graphs_of(module) for n in graph.graph.nodes)


def written_nodes(module):
    """The nodes of a GraphModule, and of those inside it, whose elements some operator in them may write."""
    parents, written = {}, []

    def root(node):
        while node in parents:
            node = parents[node]
        return node

    def share(a, b):
        if root(a) is not root(b):
            parents[root(a)] = root(b)

    for graph in graphs_of(module):
        inside = graph is not module and writes(graph)
        for node in graph.graph.nodes:
            if isinstance(node.target, torch._ops.OpOverload):
                for argument, given in arguments_of(node):
                    is_write = argument.alias_info is not None and argument.alias_info.is_write
                    for other in given if argument.alias_info is not None or node.target.name() in PASSING else []:
                        share(other, node)
                        written += [other] * is_write
                continue
            if node.op == "call_function":  # getitem, and what has graphs of its own
                for other in node.all_input_nodes:
                    share(other, node)
                    if other.op == "get_attr" and writes(operator.attrgetter(other.target)(graph)):
                        written.append(node)
            elif inside and node.op in ("placeholder", "output"):  # what they are outside is not seen here
                written += [node, *node.all_input_nodes]
    roots = {root(n) for n in written}
    return {n for graph in graphs_of(module) for n in graph.graph.nodes if root(n) in roots}


def arguments_of(node):
    """(argument of the schema, the nodes that are given for it)."""
    for i, argument in enumerate(node.target._schema.arguments):
        given = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
        given = given if isinstance(given, (list, tuple)) else [given]
        yield argument, [n for n in given if isinstance(n, torch.fx.Node)]


def is_fresh(node):
    """Whether the node's result is a tensor that nothing else refers to."""
    return (isinstance(node, torch.fx.Node) and isinstance(node.target, torch._ops.OpOverload)
            and all(r.alias_info is None for r in node.target._schema.returns))


def aliases_any(holder, outputs):
    """Whether a view of the placeholder's tensor is among the nodes."""
    seen, todo = set(), [holder]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        todo += [u for u in node.users if not is_fresh(u)]
    return any(n in seen for n in outputs if isinstance(n, torch.fx.Node))
