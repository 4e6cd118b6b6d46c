"""Converts nested values: the containers of an ExportedProgram's inputs and results.

Each container is a row of KINDS. The row says for which pytrees it is, and its type. It adds the nodes that take an item out of a
value, and those that make a value from items.
"""

import collections
import contextlib
import dataclasses

import torch
from torch.fx import _pytree as fx_pytree
from torch.utils import _pytree as pytree

from ..base import core
from ..base.errors import unsupported
from ..base.lock import PYTORCH_LOCK


def plain_type(value):
    """Returns the type of a value that is not a container, or of a symbolic number."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    for type_, name in ((bool, "bool"), (torch.SymBool, "bool"), (int, "int"), (torch.SymInt, "int"),
                        (float, "float"), (torch.SymFloat, "float"), (str, "str"), (complex, "complex")):
        if isinstance(value, type_):
            return name
    if value is None:
        return "Tensor?"
    raise unsupported(f"cannot export a value of type {type(value).__name__}")


def is_leaf(spec):
    return spec.is_leaf()


def children_of(spec):
    return spec.children() if hasattr(spec, "children") else spec.children_specs  # older versions of torch


def common_type(items):
    """Returns the type of all items: "Any" if they differ, "Tensor" if there are none."""
    if not items:
        return core.Type("Tensor")
    return items[0] if all(t == items[0] for t in items) else core.Type("Any")


class Tuple:
    """A tuple, and the base class of the others. Its items have indices."""

    checked = False  # whether a value of this type may have a different number of items

    @staticmethod
    def is_for(spec):
        return spec.type is tuple

    @staticmethod
    def keys(spec):
        return list(range(len(children_of(spec))))

    @staticmethod
    def names(spec):
        """Returns names of the outputs if the result of the program is this container, or None if it is one output."""
        return [f"output_{i}" for i in range(len(children_of(spec)))]

    @staticmethod
    def shown(spec, i):
        """Returns the Python expression for an item."""
        return f"[{i}]"

    @staticmethod
    def type(spec, items, what):
        return core.Type.tuple(items)

    @staticmethod
    def item(builder, value, key, type_, name):
        return builder.node("prim::TupleIndex", [value, key], [type_], name)

    @staticmethod
    def make(builder, spec, items, type_):
        return builder.node("prim::TupleConstruct", items, [type_], "output")


class Named(Tuple):
    """A named tuple, or a dataclass. Fields that are None are left out of a dataclass."""

    @staticmethod
    def is_for(spec):
        return spec.type is collections.namedtuple or (dataclasses.is_dataclass(spec.type) and not Dict.is_for(spec))

    @staticmethod
    def names(spec):
        return list(spec.context._fields if spec.type is collections.namedtuple else spec.context[0])

    @staticmethod
    def shown(spec, i):
        return f".{Named.names(spec)[i]}"

    @staticmethod
    def type(spec, items, what):
        name = (spec.context if spec.type is collections.namedtuple else spec.type).__name__
        return core.Type.tuple(items, name, Named.names(spec))


class List(Tuple):
    checked = True

    @staticmethod
    def is_for(spec):
        return spec.type is list

    @staticmethod
    def names(spec):
        return None

    @staticmethod
    def type(spec, items, what):
        return core.Type.list(common_type(items))

    @staticmethod
    def count(builder, value):
        return builder.node("aten::len.t", [value])

    @staticmethod
    def item(builder, value, key, type_, name):
        return builder.node("aten::__getitem__.t", [value, key], [type_], name)

    @staticmethod
    def make(builder, spec, items, type_):
        return builder.node("prim::ListConstruct", items, [type_], "output")


class Dict(Tuple):
    """A dict, or a subclass of dict that is registered as a pytree, such as the outputs of transformers."""

    checked = True

    @staticmethod
    def is_for(spec):
        return isinstance(spec.type, type) and issubclass(spec.type, dict) and spec.type is not collections.defaultdict

    @staticmethod
    def keys(spec):
        return list(spec.context)

    @staticmethod
    def names(spec):
        return None

    @staticmethod
    def shown(spec, i):
        return f"[{Dict.keys(spec)[i]!r}]"

    @staticmethod
    def type(spec, items, what):
        keys = {plain_type(k) for k in Dict.keys(spec)} or {"str"}
        if len(keys) > 1 or keys - {"str", "int", "float", "bool", "complex"}:
            raise unsupported(f"the keys of a dict must be all strings, ints, floats, bools or complex numbers, got others in {what}")
        return core.Type.dict(keys.pop(), common_type(items))

    @staticmethod
    def count(builder, value):
        return builder.node(f"aten::len.Dict_{value.type.items[0]}", [value])

    @staticmethod
    def item(builder, value, key, type_, name):
        return builder.node(f"aten::__getitem__.Dict_{value.type.items[0]}", [value, key], [type_], name)

    @staticmethod
    def make(builder, spec, items, type_):
        pairs = [x for pair in zip(Dict.keys(spec), items) for x in pair]
        return builder.node("prim::DictConstruct", pairs, [type_], "output")


class Registered(Tuple):
    """A class that a library registered as a pytree, such as transformers' DynamicCache. It becomes a tuple of its parts."""

    @staticmethod
    def is_for(spec):
        return spec.type in pytree.SUPPORTED_NODES

    @staticmethod
    def names(spec):
        known = spec.context if isinstance(spec.context, (list, tuple)) else ()
        if len(known) == len(children_of(spec)) and all(isinstance(k, str) and k.isidentifier() for k in known):
            return list(known)
        return [f"item_{i}" for i in range(len(children_of(spec)))]

    @staticmethod
    def shown(spec, i):
        return f".{Registered.names(spec)[i]}"

    @staticmethod
    def type(spec, items, what):
        return core.Type.tuple(items, spec.type.__name__, Registered.names(spec))


KINDS = (Tuple, List, Dict, Named, Registered)


def with_fields(spec, names):
    """Returns the spec of a named tuple with these fields, for that of a dict."""
    return pytree.TreeSpec(collections.namedtuple, collections.namedtuple("Output", names), children_of(spec))


def kind_of(spec, what):
    """Returns the row of KINDS for a pytree. `what` names the value in the error for an unknown container."""
    kind = next((k for k in KINDS if k.is_for(spec)), None)
    if kind is None:
        raise unsupported(f"cannot export a {spec.type.__name__} in {what}: containers must be tuples, lists, dicts, dataclasses or "
                          "classes that torch.utils._pytree.register_pytree_node registered")
    return kind


def tree_type(spec, leaves, what):
    """Returns the type of a nested value. `leaves` yields the types of its leaves, in order."""
    if is_leaf(spec):
        return next(leaves)
    return kind_of(spec, what).type(spec, [tree_type(s, leaves, what) for s in children_of(spec)], what)


def pack(builder, spec, leaves, type_of, what):
    """Returns (value, type) of a nested result. `leaves` yields the values of its leaves, and type_of gives their types."""
    if is_leaf(spec):
        leaf = next(leaves)
        return leaf, type_of(leaf)
    kind = kind_of(spec, what)
    items = [pack(builder, s, leaves, type_of, what) for s in children_of(spec)]
    type_ = kind.type(spec, [t for _, t in items], what)
    return kind.make(builder, spec, [v for v, _ in items], type_), type_


def rebuild(spec, value):
    """Returns a nested value of tuples, lists and dicts, in the containers of the spec."""
    if is_leaf(spec) or not isinstance(value, (tuple, list, dict)):  # an object of a class is one already
        return value
    if Dict.is_for(spec):
        if not isinstance(value, dict) or set(value) != set(Dict.keys(spec)):
            return value  # PyTorch will say what is wrong
        value = [value[k] for k in Dict.keys(spec)]
    if len(value) != len(children_of(spec)):
        return value
    items = [rebuild(s, v) for s, v in zip(children_of(spec), value)]
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(items, spec.context)


@contextlib.contextmanager
def fx_flattens(spec):
    """The module of a program accepts all containers that torch.utils._pytree knows, in its parts.

    torch.fx does not know OrderedDict or dataclasses. It flattens others to different parts: of a DynamicCache (transformers 4.52)
    it gives the tensors, in place of lists of tensors.
    """
    with PYTORCH_LOCK:
        before = dict(fx_pytree.SUPPORTED_NODES)
        for type_ in _types(spec) - {tuple, list, dict, collections.namedtuple}:
            flatten = pytree.SUPPORTED_NODES[type_].flatten_fn
            fx_pytree.SUPPORTED_NODES[type_] = lambda value, _, flatten=flatten: flatten(value)[0]
        try:
            yield
        finally:
            fx_pytree.SUPPORTED_NODES.clear()
            fx_pytree.SUPPORTED_NODES.update(before)


def _types(spec):
    return set() if is_leaf(spec) else {spec.type}.union(*map(_types, children_of(spec)))
