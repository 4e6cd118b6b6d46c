"""Models and example inputs in the forms in which PyTorch's users have them: a tokenizer's dict, wrappers around a module."""

import collections.abc
import inspect
import itertools
import os
import types

import torch

from ..exported_program.containers import children_of

_WRAPPERS = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)


class _Method(torch.nn.Module):
    """A module whose forward is another one's method."""

    def __init__(self, method):
        super().__init__()
        self.module = method.__self__
        vars(self)["forward"] = method


def unwrapped(model):
    """What torch.compile or DataParallel was called with; a module for a module's method."""
    while True:
        if isinstance(model, types.MethodType) and isinstance(model.__self__, torch.nn.Module):
            return _Method(model)
        if isinstance(model, _WRAPPERS):
            model = model.module
        elif hasattr(model, "_orig_mod"):  # of torch.compile, a module
            model = model._orig_mod
        elif hasattr(model, "_torchdynamo_orig_callable"):  # a function
            model = model._torchdynamo_orig_callable
        else:
            return model


def positional(model, given, what="example_inputs"):
    """(example_inputs as a tuple, their names where forward is to be called by name, else None). `given` is a tensor, a tuple,
    or a dict by name; None in it is left out, so that forward's own default is taken. Where there is no default, the names of what
    is None come last, without an input. Messages call it `what`.

    Raises:
        ValueError: `given` is none of these, or has a name that the model does not
    """
    if given is None:
        return None, None
    if isinstance(given, torch.Tensor):
        given = (given,)
    if isinstance(given, collections.abc.Mapping):
        return _of_dict(model, dict(given), what)
    if not isinstance(given, (tuple, list)):
        raise ValueError(f"{what} must be a tuple of positional arguments, or a dict of them by name")
    if any(value is None for value in given) and _is_traced(model):
        names = _parameters(model)
        if len(given) <= len(names):
            return _of_dict(model, dict(zip(names, given)), what)
    return tuple(given), None


def call(model, method, args, names=None):
    """The model's answer to arguments by place, or by these names, of which the last may have None."""
    function = model if method == "forward" else getattr(model, method)
    return function(**dict(itertools.zip_longest(names, args))) if names else function(*args)


def _is_traced(model):
    return not isinstance(model, (str, os.PathLike, torch.jit.ScriptModule, torch.jit.ScriptFunction, torch.fx.GraphModule,
                                  torch.export.ExportedProgram))


def _signature_of(model):
    return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model).parameters.values()


def _parameters(model):
    """Names of forward's parameters that can be given by name and by place."""
    return [p.name for p in _signature_of(model) if p.kind == p.POSITIONAL_OR_KEYWORD]


def accepts_names(model, names, args):
    """Whether torch.jit.trace, too, takes inputs of these names."""
    return len(names) == len(args) and set(names) <= set(_parameters(model))


def _of_dict(model, given, what):
    if _is_traced(model):
        names = [p.name for p in _signature_of(model) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if any(p.kind == p.VAR_KEYWORD for p in _signature_of(model)):
            names += [name for name in given if name not in names]
        _refuse_unknown(given, names, what)
        defaults = {p.name for p in _signature_of(model) if p.default is not p.empty}
        wanted = [name for name in names if name in given and given[name] is None and name not in defaults]
        names = [name for name in names if given.get(name) is not None]
        return tuple(given[name] for name in names), names + wanted
    names, defaults = _signature(model, what)
    _refuse_unknown(given, names, what)
    given = {name: value for name, value in given.items() if value is not None or name not in defaults}
    count = max((i + 1 for i, name in enumerate(names) if name in given), default=0)
    for name in names[:count]:
        if name not in given and name not in defaults:
            raise ValueError(f"{what}: the input '{name}' is missing; the model's are {', '.join(names)}")
    return tuple(given[name] if name in given else defaults[name] for name in names[:count]), None


def _signature(model, what):
    """(names of forward's arguments, {name: default})."""
    if isinstance(model, torch.export.ExportedProgram):
        args, kwargs = children_of(model.call_spec.in_spec)
        names = list(getattr(model.module_call_graph[0].signature, "forward_arg_names", None) or [])
        if len(names) != len(children_of(args)) + len(children_of(kwargs)):
            raise ValueError(f"{what}: this ExportedProgram does not keep its inputs' names: give a tuple")
        return names, {}
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        function = model if isinstance(model, torch.jit.ScriptFunction) else model.forward
        arguments = [a for a in function.schema.arguments if a.name != "self"]
        return [a.name for a in arguments], {a.name: a.default_value for a in arguments if a.has_default_value()}
    if isinstance(model, torch.fx.GraphModule):
        nodes = [n for n in model.graph.nodes if n.op == "placeholder"]
        return [n.target for n in nodes], {n.target: n.args[0] for n in nodes if n.args}
    raise ValueError(f"{what}: a file's inputs are given by place, as a tuple")


def _refuse_unknown(given, names, what):
    for name in given:
        if name not in names:
            raise ValueError(f"{what}: the model has no input '{name}'; it has {', '.join(names) or 'none by name'}")
