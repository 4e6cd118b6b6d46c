"""Forward hooks and pre-hooks of the outermost module.

Graphs contain the hooks of submodules that they call. Those of the outermost module are run by Module::operator()
(torch/csrc/jit/api/module.cpp).
"""

import torch

from . import graphs


def run_hooks(graph, module):
    """Makes the graph of forward run the module's hooks, too. Returns whether there are any."""
    before, after = module._get_forward_pre_hooks(), module._get_forward_hooks()
    if not before and not after:
        return False
    given = _run_before(graph, before)
    _run_after(graph, after, given)
    return True


def _insert_hook(graph, hook, inputs):
    """Inserts a hook's graph and returns its result."""
    return graphs.insert_graph(graph, hook.graph.copy(), inputs)[0]


def _run_before(graph, hooks):
    """Runs the pre-hooks on the arguments first."""
    module, *args = graph.inputs()
    with graphs.before(graph, _first(graph)):
        packed = given = graphs.call(graph, "prim::TupleConstruct", args, torch._C.TupleType([a.type() for a in args]))
        for hook in hooks:
            result = _insert_hook(graph, hook, [module, given])
            if result.type().kind() == "NoneType":
                continue
            is_tuple = result.type().kind() == "TupleType"
            given = result if is_tuple else graphs.call(graph, "prim::TupleConstruct", [result], torch._C.TupleType([result.type()]))
        if given.unique() == packed.unique():
            return given
        unpack = graphs.add(graph, "prim::TupleUnpack", [given], given.type().containedTypes())
    for argument, value in zip(args, unpack.outputs()):
        argument.replaceAllUsesAfterNodeWith(unpack, value)
    return given


def _first(graph):
    return next(graph.nodes(), graph.return_node())


def _run_after(graph, hooks, given):
    """Runs the hooks on the result."""
    module = next(graph.inputs())
    with graphs.before(graph, graph.return_node()):
        for hook in hooks:
            result = _insert_hook(graph, hook, [module, given, next(graph.outputs())])
            if result.type().kind() != "NoneType":
                graph.return_node().replaceInput(0, result)
