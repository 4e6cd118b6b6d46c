"""Captures models that compute gradients in forward, or use torch.func, with make_fx.

torch.jit.trace does not see what autograd does inside an operator. make_fx sees every operator that autograd calls.
"""

import copy
import inspect

import torch
from torch.fx.experimental import proxy_tensor

from ..base.user_frame import warn_user
from . import inputs, patches
from .captured import TraceWarning
from .fx import capture_graph
from .model_state import copied, evaluation_mode


def capture_with_gradients(model, example_inputs, train, names, reference):
    """Returns a Captured program with the operators of the gradients.

    Raises:
        RuntimeError: the model writes its own tensors
        Exception: any error of make_fx, for example if values decide a branch of the model
    """
    fresh, results = copied(model), {}
    with patches.applied(fresh, patches.MAKE_FX, results), evaluation_mode(fresh, train):
        graph, warnings = _graph_of(fresh, tuple(example_inputs), names)
    for text in warnings:
        warn_user(text, torch.jit.TracerWarning)
    captured = capture_graph(graph, example_inputs, train)
    captured.route, captured.reference, captured.notes = "traced with gradients", reference, results["fast path"]
    captured.warnings = [*(TraceWarning("", text) for text in warnings), *captured.warnings]
    return captured


def _graph_of(model, given, names):
    """Returns (GraphModule of ATen operators, warnings). Sizes are dynamic if make_fx can follow them. `model` may be written."""
    state = list(_state_of(model))
    before = [t.detach().clone() for t in state]

    def make_graph(mode):
        def function(*args):
            return inputs.call(model, "forward", args, names)

        return proxy_tensor.make_fx(function, tracing_mode=mode, _allow_non_fake_inputs=True)(*copy.deepcopy(given))

    warnings = []
    try:
        graph = make_graph("symbolic")
    except Exception:  # errors have many types: an operator without a rule for sizes, a branch on a value
        graph = make_graph("real")
        warnings = ["gradients in forward are traced at the example's sizes: the file accepts no others"]
    if not all(now is t and torch.equal(t, value) for now, t, value in zip(_state_of(model), state, before)):
        raise RuntimeError("the model writes its own tensors, which such a graph does not record")
    _rename_inputs(graph, _names_of(model, names))
    return graph, warnings


def _state_of(model):
    if isinstance(model, torch.nn.Module):
        yield from model.parameters()
        yield from model.buffers()


def _names_of(model, names):
    function = model.forward if isinstance(model, torch.nn.Module) else model
    parameters = inspect.signature(function).parameters.values()
    return names or [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _rename_inputs(module, names):
    """Gives the graph's inputs the names of forward's, unless one of forward's is several tensors."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(placeholders) > len(names):
        return
    for node, name in zip(placeholders, names):
        node._rename(name)
        node.target = node.name
    module.recompile()
