"""Traces models whose result has no type for torch.jit.trace (dicts and lists of several types, tuples in lists, None), or another type
(a size is a tensor in a trace).

The tracer gets a method that returns only the tensors of the result. A method in TorchScript puts them into the containers.
"""

import collections
import dataclasses
import inspect
import math
from typing import Callable, NamedTuple

import torch
from torch.utils import _pytree as pytree

from ..base.errors import unsupported
from ..base.values import require_utf8
from ..exported_program.containers import Dict, children_of, is_leaf
from . import inputs

_METHOD = "_tensors_of"
_NUMBERS = (bool, int, float)


class NoType(TypeError):
    """The value has no type in TorchScript either."""


def has_numbers(script, answer):
    """Returns whether the model returns numbers for which its trace returns tensors. `answer` is called only if that is possible."""
    if not any(value.type().kind() == "TensorType" and value.type().dim() == 0 for value in _results(script.inlined_graph)):
        return False
    return any(type(leaf) in _NUMBERS for leaf in _leaves(answer())[0])


def _results(graph):
    """Returns the values inside the containers that the graph returns."""
    values = list(graph.outputs())
    while values:
        value = values.pop()
        if value.node().kind() in ("prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct"):
            values += value.node().inputs()
        else:
            yield value


def _is_other(value):
    return isinstance(value, (torch.Size, collections.defaultdict)) or hasattr(value, "to_legacy_cache") or _is_dataclass(value)


def _is_dataclass(value):
    """Returns whether the value is a dataclass, and no dict such as the outputs of transformers are."""
    return dataclasses.is_dataclass(value) and not isinstance(value, (type, dict))


def plain(value):
    """Returns the value with tuples for torch.Size, dicts for defaultdict and dataclasses, and tuples of layers for key-value caches of
    transformers."""
    if _is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif _is_other(value):
        value = tuple(value) if isinstance(value, torch.Size) else dict(value) if isinstance(value, dict) else value.to_legacy_cache()
    return pytree.tree_map(lambda v: plain(v) if _is_other(v) else v, value, is_leaf=_is_other)


def _leaves(value):
    return pytree.tree_flatten(plain(value))


def traced(model, given, by_name=None, answer=None):
    """Traces a module or function to a ScriptModule.

    Args:
        given: values of the arguments
        by_name: their names, if forward is called by name
        answer: the result of the model without a trace. Its numbers become constants

    Raises:
        NoType: the result contains other values than tensors, numbers and strings in tuples, lists and dicts
    """
    module = model if isinstance(model, torch.nn.Module) else Holder(model)
    own = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    return traced_methods(module, [Call("forward", lambda *args: inputs.call(model, "forward", args, by_name),
                                        signature(own, by_name, len(given)), given, answer)])


class Call(NamedTuple):
    """A method to trace, and a call of it."""

    name: str  # in the ScriptModule
    function: Callable
    signature: inspect.Signature
    args: tuple
    answer: object  # the result without a trace. Its numbers become constants


def traced_methods(module, calls):
    """Traces methods of one module to a ScriptModule. A later call sees the state that earlier ones leave.

    Raises:
        NoType: a result contains other values than tensors, numbers and strings in tuples, lists and dicts
    """
    seen = {}
    for call in calls:
        vars(module)[_METHOD + call.name] = _tensors_of(call, seen)
    try:
        script = torch.jit.trace_module(module, {_METHOD + call.name: call.args for call in calls}, check_trace=False, strict=False)
    finally:
        for call in calls:
            del vars(module)[_METHOD + call.name]
    for call in calls:
        leaves, spec = seen[call.name]
        own, own_spec = _leaves(call.answer)
        types = [type(value) for value in own] if own_spec == spec else [None] * len(leaves)
        script.define(_source(script, call.name, list(zip(leaves, types)), spec))
    return script


def _tensors_of(call, seen):
    """Returns a function that calls the method and returns the tensors of the result. `seen` gets the whole result."""
    def tensors(*args):
        leaves, spec = _leaves(call.function(*args))
        seen[call.name] = leaves, spec
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    tensors.__signature__ = call.signature
    return tensors


class Holder(torch.nn.Module):
    """A module whose forward is a function."""

    def __init__(self, function):
        super().__init__()
        vars(self)["forward"] = function


def signature(own, by_name, count):
    """Returns the signature of a call by names, or the function's own."""
    if by_name:
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in by_name[:count]])
    return own


def _source(script, name, leaves, spec):
    """Returns the source of the method that puts the tensors into their containers."""
    arguments = script._c._get_method(_METHOD + name).schema.arguments[1:]
    parameters = "".join(f", {a.name}: {a.type.annotation_str}" for a in arguments)
    places = iter(range(len(leaves)))
    texts = iter([_leaf(leaf, type_, places) for leaf, type_ in leaves])
    return (f"def {name}(self{parameters}):\n"
            f"    tensors_ = self.{_METHOD}{name}({', '.join(a.name for a in arguments)})\n"
            f"    return {_text(spec, texts)[0]}\n")


def _leaf(value, type_, places):
    """Returns (source, type) of a leaf of the result, for a model that returns a value of this type."""
    if isinstance(value, torch.Tensor):
        text = f"tensors_[{next(places)}]"
        return (f"{type_.__name__}({text})", type_.__name__) if type_ in _NUMBERS else (text, "Tensor")
    if value is None:
        return "None", "None"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")', "float"
    if isinstance(value, str):
        require_utf8(value, "a string in the model's result", unsupported)
    if type(value) in (bool, int, float, str):
        return repr(value), type(value).__name__
    raise NoType(f"a value of type {type(value).__name__}")


def _text(spec, leaves):
    """Returns (source, type) of a nested value. `leaves` yields those of its leaves, in order."""
    if is_leaf(spec):
        return next(leaves)
    items = [_text(child, leaves) for child in children_of(spec)]
    types = [type_ for _, type_ in items]
    common = "Tensor" if not types else types[0] if len(set(types)) == 1 else "Any"
    if spec.type is list:
        type_ = f"List[{common}]"
        return f"torch.jit.annotate({type_}, [{', '.join(text for text, _ in items)}])", type_
    if Dict.is_for(spec):
        keys = {type(key) for key in Dict.keys(spec)} or {str}
        if len(keys) > 1 or not keys <= {str, int, float, bool, complex}:
            raise NoType("the keys of a dict must be all strings, ints, floats, bools or complex numbers")
        for key in (key for key in Dict.keys(spec) if isinstance(key, str)):
            require_utf8(key, "the key of a dict in the model's result", unsupported)
        type_ = f"Dict[{keys.pop().__name__}, {common}]"
        pairs = (f"{key!r}: {text}" for key, (text, _) in zip(Dict.keys(spec), items))
        return f"torch.jit.annotate({type_}, {{{', '.join(pairs)}}})", type_
    if not items or not (spec.type is tuple or hasattr(spec.type, "_fields") or spec.type.__name__ == "namedtuple"):
        raise NoType(f"a value of type {spec.type.__name__}")
    return f"({', '.join(text for text, _ in items)},)", f"Tuple[{', '.join(types)}]"
