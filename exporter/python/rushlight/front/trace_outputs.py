"""What a traced model returns, where torch.jit.trace has no type for it: dicts and lists of several types, tuples in lists, None;
or has another: a size is a tensor in a trace.

The tracer is given a method that returns the tensors in it, and a forward in TorchScript puts them where they were.
"""

import collections
import inspect
import math

import torch
from torch.utils import _pytree as pytree

from ..exported_program.containers import Dict, children_of, is_leaf
from . import inputs

_METHOD = "_rushlight_tensors"
_NUMBERS = (bool, int, float)


class NoType(TypeError):
    """A value has no type in TorchScript either."""


def has_numbers(script, answer):
    """Whether the model's answer has numbers where its trace has tensors; `answer` is called only where there may be some."""
    if not any(value.type().kind() == "TensorType" and value.type().dim() == 0 for value in _results(script.inlined_graph)):
        return False
    return any(type(leaf) in _NUMBERS for leaf in _leaves(answer())[0])


def _results(graph):
    """The values that containers of what the graph returns are made of."""
    values = list(graph.outputs())
    while values:
        value = values.pop()
        if value.node().kind() in ("prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct"):
            values += value.node().inputs()
        else:
            yield value


def _is_other(value):
    return isinstance(value, (torch.Size, collections.defaultdict)) or hasattr(value, "to_legacy_cache")


def plain(value):
    """With a tuple for each torch.Size, which is no pytree, a dict for each defaultdict, and for each of transformers' caches of keys
    and values a tuple of its layers'."""
    if _is_other(value):
        value = tuple(value) if isinstance(value, torch.Size) else dict(value) if isinstance(value, dict) else value.to_legacy_cache()
    return pytree.tree_map(lambda v: plain(v) if _is_other(v) else v, value, is_leaf=_is_other)


def _leaves(value):
    return pytree.tree_flatten(plain(value))


def traced(model, given, by_name=None, answer=None):
    """A ScriptModule of a module or function, whose arguments have these values and, where they are called so, names. `answer` is
    what the model returns where it is not traced, of which numbers are kept.

    Raises:
        NoType: it returns what is no tensor, number or string, in tuples, lists and dicts
    """
    module = model if isinstance(model, torch.nn.Module) else _Holder(model)
    seen = []

    def tensors(*args):
        leaves, spec = _leaves(inputs.call(model, "forward", args, by_name))
        seen[:] = [leaves, spec]
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    tensors.__signature__ = _signature(model, by_name, len(given))
    vars(module)[_METHOD] = tensors
    try:
        script = torch.jit.trace_module(module, {_METHOD: given}, check_trace=False, strict=False)
    finally:
        del vars(module)[_METHOD]
    leaves, spec = seen
    own, own_spec = _leaves(answer)
    types = [type(value) for value in own] if own_spec == spec else [None] * len(leaves)
    script.define(_forward(script, list(zip(leaves, types)), spec))
    return script


class _Holder(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        vars(self)["forward"] = function


def _signature(model, by_name, count):
    if by_name:
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in by_name[:count]])
    return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)


def _forward(script, leaves, spec):
    """The text of the method that puts tensors in their containers."""
    arguments = script._c._get_method(_METHOD).schema.arguments[1:]
    parameters = "".join(f", {a.name}: {a.type.annotation_str}" for a in arguments)
    places = iter(range(len(leaves)))
    texts = iter([_leaf(leaf, type_, places) for leaf, type_ in leaves])
    return (f"def forward(self{parameters}):\n"
            f"    tensors_ = self.{_METHOD}({', '.join(a.name for a in arguments)})\n"
            f"    return {_text(spec, texts)[0]}\n")


def _leaf(value, type_, places):
    """(text, type) of what a trace returns where the model returns a value of this type."""
    if isinstance(value, torch.Tensor):
        text = f"tensors_[{next(places)}]"
        return (f"{type_.__name__}({text})", type_.__name__) if type_ in _NUMBERS else (text, "Tensor")
    if value is None:
        return "None", "None"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")', "float"
    if type(value) in (bool, int, float, str):
        return repr(value), type(value).__name__
    raise NoType(f"a value of type {type(value).__name__}")


def _text(spec, leaves):
    """(text, type) of a nested value; `leaves` yields those of its leaves in their order."""
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
        if len(keys) > 1 or not keys <= {str, int, float, bool}:
            raise NoType("a dict whose keys are not of one plain type")
        type_ = f"Dict[{keys.pop().__name__}, {common}]"
        pairs = (f"{key!r}: {text}" for key, (text, _) in zip(Dict.keys(spec), items))
        return f"torch.jit.annotate({type_}, {{{', '.join(pairs)}}})", type_
    if not items or not (spec.type is tuple or hasattr(spec.type, "_fields") or spec.type.__name__ == "namedtuple"):
        raise NoType(f"a value of type {spec.type.__name__}")
    return f"({', '.join(text for text, _ in items)},)", f"Tuple[{', '.join(types)}]"
