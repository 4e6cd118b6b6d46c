"""Brings models and example inputs into one form: removes wrappers, and makes inputs positional."""

import collections.abc
import inspect
import itertools
import types

import torch

from ..exported_program.containers import children_of

_WRAPPERS = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)


class _Method(torch.nn.Module):
    """A module whose forward is a method of another module."""

    def __init__(self, method):
        super().__init__()
        self.module = method.__self__
        vars(self)["forward"] = method


def unwrapped(model):
    """Returns the model without the wrappers of torch.compile and DataParallel. A method of a module becomes a module."""
    while True:
        if isinstance(model, types.MethodType) and isinstance(model.__self__, torch.nn.Module):
            return _Method(model)
        if isinstance(model, _WRAPPERS):
            model = model.module
        elif hasattr(model, "_orig_mod"):  # a module that torch.compile wrapped
            model = model._orig_mod
        elif hasattr(model, "_torchdynamo_orig_callable"):  # a function
            model = model._torchdynamo_orig_callable
        else:
            return model


def positional(model, given, what="example_inputs"):
    """Makes example inputs positional.

    Args:
        model: a model without wrappers
        given: a tensor, a tuple, or a dict by name. If it is None, an input keeps forward's default
        what: the name of `given` in error messages

    Returns:
        (tuple, names): `names` is None if forward is called with positional arguments. Names of inputs that are None and have no default
        come last, without an item in the tuple

    Raises:
        ValueError: `given` has another type, or an input that the model does not have
    """
    if given is None:
        return None, None
    if isinstance(given, torch.Tensor):
        given = (given,)
    if isinstance(given, collections.abc.Mapping):
        return _of_dict(model, dict(given), what)
    if not isinstance(given, (tuple, list)):
        raise ValueError(f"{what} must be a tuple of positional arguments, or a dict of them by name, got {type(given).__name__}")
    if any(value is None for value in given) and _is_traced(model):
        names = _parameters(model)
        if len(given) <= len(names):
            return _of_dict(model, dict(zip(names, given)), what)
    return tuple(given), None


def none_inputs(model, given):
    """Returns [(position, name)] of the arguments that are None in example inputs of a traced model, which has no inputs for them."""
    of_dict = isinstance(given, collections.abc.Mapping)
    if not isinstance(given, (tuple, list)) and not of_dict or not _is_traced(model):
        return []
    if all(value is not None for value in (given.values() if of_dict else given)):
        return []
    if not of_dict:
        names = _parameters(model)
        given = dict(zip(names, given)) if len(given) <= len(names) else {}
    names = [p.name for p in _signature_of(model) if p.name in given]
    names += [name for name in given if name not in names]
    return [(i, name) for i, name in enumerate(names) if given[name] is None]


def call(model, method, args, names=None):
    """Returns the model's answer to positional arguments, or to arguments with these names. Names without an argument get None."""
    function = model if method == "forward" else getattr(model, method)
    return function(**dict(itertools.zip_longest(names, args))) if names else function(*args)


def _is_traced(model):
    return callable(model) and not isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction, torch.fx.GraphModule,
                                                      torch.export.ExportedProgram))


def _signature_of(model):
    return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model).parameters.values()


def _parameters(model):
    """Returns names of forward's parameters that can be positional or by name."""
    return [p.name for p in _signature_of(model) if p.kind == p.POSITIONAL_OR_KEYWORD]


def accepts_names(model, names, args):
    """Returns whether torch.jit.trace accepts inputs with these names."""
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
            raise ValueError(f"{what} must have the input '{name}'; the inputs of the model are {', '.join(names)}")
    return tuple(given[name] if name in given else defaults[name] for name in names[:count]), None


def _signature(model, what):
    """Returns (names of forward's arguments, {name: default})."""
    if isinstance(model, torch.export.ExportedProgram):
        args, kwargs = children_of(model.call_spec.in_spec)
        names = list(getattr(model.module_call_graph[0].signature, "forward_arg_names", None) or [])
        if len(names) != len(children_of(args)) + len(children_of(kwargs)):
            raise ValueError(f"{what} must be a tuple, got a dict: this ExportedProgram does not store the names of its inputs")
        return names, {}
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        function = model if isinstance(model, torch.jit.ScriptFunction) else model.forward
        arguments = [a for a in function.schema.arguments if a.name != "self"]
        return [a.name for a in arguments], {a.name: a.default_value for a in arguments if a.has_default_value()}
    if isinstance(model, torch.fx.GraphModule):
        nodes = [n for n in model.graph.nodes if n.op == "placeholder"]
        return [n.target for n in nodes], {n.target: n.args[0] for n in nodes if n.args}
    raise ValueError(f"{what} must be a tuple for the path of a file, got a dict")


def _refuse_unknown(given, names, what):
    for name in given:
        if name not in names:
            raise ValueError(f"{what} has the input '{name}', which the model does not have: its inputs are "
                             f"{', '.join(names) or 'positional'}")
