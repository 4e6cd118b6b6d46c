"""Models that take gradients in forward, or use torch.func. torch.jit.trace does not see what autograd keeps inside of an operator
that is made of others; make_fx sees all that autograd calls."""

import contextlib
import copy
import inspect

import torch
from torch.fx.experimental import proxy_tensor

from . import inputs as inputs_


class Taken(Exception):
    """A model that is traced takes gradients."""


@contextlib.contextmanager
def refused():
    """torch.autograd.grad and backward raise Taken."""
    before = torch.autograd._make_grads  # which both call first

    def make_grads(*args, **kwargs):
        raise Taken()

    torch.autograd._make_grads = make_grads
    try:
        yield
    finally:
        torch.autograd._make_grads = before


# Of torch.jit.trace, where gradients or torch.func's transforms come in its way.
_WORDS = ("Cannot insert a Tensor that requires grad as a constant", "Cannot access data pointer of Tensor that doesn't have storage",
          "Unsupported value kind: Tensor")


def is_in_the_way(error):
    return isinstance(error, Taken) or any(words in str(error) for words in _WORDS)


def graph_of(model, given, by_name):
    """(a GraphModule of ATen's operators, gradients among them, notes for the report). `model` is written: give a copy. Sizes stay
    open where make_fx can follow them.

    Raises:
        RuntimeError: the model writes its state, which the graph would lose
    And what make_fx raises where numbers decide how the model goes on."""
    state = list(_state_of(model))
    before = [t.detach().clone() for t in state]
    def traced(mode):
        def function(*args):
            return inputs_.call(model, "forward", args, by_name)

        tracer = proxy_tensor.PythonKeyTracer
        tracer.record_stack_traces = True
        try:
            return proxy_tensor.make_fx(function, tracing_mode=mode, _allow_non_fake_inputs=True)(*copy.deepcopy(given))
        finally:
            del tracer.record_stack_traces

    notes = []
    try:
        graph = traced("symbolic")
    except Exception:  # of many types: an operator that does not know its result's sizes, a number that decides
        graph = traced("real")
        notes = ["gradients in forward are traced at the example's sizes: the file takes no others"]
    if not all(now is t and torch.equal(t, value) for now, t, value in zip(_state_of(model), state, before)):
        raise RuntimeError("the model writes its own tensors, which such a graph does not show")
    _name(graph, _names_of(model, by_name))
    return graph, notes


def _state_of(model):
    if isinstance(model, torch.nn.Module):
        yield from model.parameters()
        yield from model.buffers()


def _names_of(model, by_name):
    function = model.forward if isinstance(model, torch.nn.Module) else model
    parameters = inspect.signature(function).parameters.values()
    return by_name or [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _name(module, names):
    """Has the graph's inputs be called as forward's, where each of these is one tensor."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(inputs) > len(names):
        return
    for node, name in zip(inputs, names):
        node._rename(name)
        node.target = node.name
    module.recompile()
