"""Captures several methods as one program: modules, functions and methods of modules, which share weights and state."""

import copy
import dataclasses
import inspect
import types

import torch

from . import inputs, trace_outputs
from .captured import Captured, MethodCall
from .model_state import Reference
from .subclass_weights import with_plain_weights
from .tracer import traced

_REFUSED = (str, torch.export.ExportedProgram, torch.fx.GraphModule)


@dataclasses.dataclass
class _Method:
    owner: torch.nn.Module
    attribute: str  # its name in the owner
    args: tuple
    names: list  # as inputs.positional gives them
    path: str = ""  # of the owner in the root


def capture_methods(given, train):
    """Traces methods.

    Args:
        given: {name: (module, function or method of a module, example inputs)}
        train: keep the training mode

    Raises:
        ValueError, TypeError: `given` has another form
        RushlightError: a method cannot be traced
    """
    methods = {checked_name(name): _method(name, pair) for name, pair in given.items()}
    root = with_plain_weights(_common_root(methods))

    def call(model, name, args):
        method = methods[name]
        owner = model.get_submodule(method.path) if method.path else model
        return inputs.call(owner, method.attribute, args, method.names)

    reference = Reference(root, train, call)
    calls = [(name, method.args) for name, method in methods.items()]
    reference.probe(calls)
    expected = reference.answers(copy.deepcopy(calls))

    def record(model, args):
        return trace_outputs.traced_methods(model, [
            trace_outputs.Call(f"_method_{name}", lambda *args, name=name: call(model, name, args), _signature(method), given, answer)
            for (name, method), given, answer in zip(methods.items(), args, expected)])

    script, warnings, notes = traced(root, tuple(method.args for method in methods.values()), train, record, only_read=reference.lent)
    calls = [MethodCall(name, method.args, answer) for (name, method), answer in zip(methods.items(), expected)]
    return Captured(script, "traced", reference, warnings, notes,
                    methods={name: f"_method_{name}" for name in methods}, calls=calls)


def checked_name(name):
    """Returns the name of a method, which must be an identifier."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"the name of a method must be an identifier, got {name!r}")
    return name


def _method(name, pair):
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"the method {name!r} must be (module, example inputs), got {type(pair).__name__}")
    model, given = inputs.unwrapped(pair[0]), pair[1]
    if not callable(model) or isinstance(model, (type, *_REFUSED)):
        raise TypeError(f"the method {name!r} must be a module, a function or a method of a module, got {type(pair[0]).__name__}")
    if given is None:
        raise ValueError(f"the method {name!r} must have example inputs, got None")
    args, names = inputs.positional(model, given, f"the example inputs of {name!r}")
    if isinstance(pair[0], types.MethodType) and isinstance(pair[0].__self__, torch.nn.Module):
        return _Method(pair[0].__self__, pair[0].__name__, args, names)
    return _Method(model if isinstance(model, torch.nn.Module) else trace_outputs.Holder(model), "forward", args, names)


def _common_root(methods):
    """Returns the module that contains the owners of all methods: one of them, or a new one. Sets their paths."""
    owners = list({id(method.owner): method.owner for method in methods.values()}.values())
    for owner in owners:
        paths = {id(module): path for path, module in owner.named_modules()}
        if not isinstance(owner, torch.jit.ScriptModule) and all(id(other) in paths for other in owners):
            break
    else:
        owner, paths = _new_root(methods)
    for method in methods.values():
        method.path = paths[id(method.owner)]
    return owner


def _new_root(methods):
    root, paths = torch.nn.Module(), {}
    for name, method in methods.items():
        if id(method.owner) not in paths:
            paths[id(method.owner)] = name if not hasattr(root, name) else f"{name}_"
            root.add_module(paths[id(method.owner)], method.owner)
    return root, paths


def _signature(method):
    function = method.owner.forward if method.attribute == "forward" else getattr(method.owner, method.attribute)
    return trace_outputs.signature(inspect.signature(function), method.names, len(method.args))
