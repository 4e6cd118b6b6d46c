"""Values of callers as TorchScript takes them."""

import functools

import torch

from .types import TypeKey, fields_of

_NUMBERS = (bool, int, float)


def as_tuples(value, type_):
    """Replaces enums and objects by the named tuples of the type: an enum by its name and value, an object by its attributes."""
    if value is None or not _wants_fields(type_):
        return value
    kind, inner = type_.kind(), type_.containedTypes()
    if kind == "OptionalType":
        return as_tuples(value, inner[0])
    if kind == "TupleType" and _can_be_tuple(value, type_):
        return _as_tuple(value, type_)
    if kind == "DictType" and isinstance(value, dict):
        return {key: as_tuples(item, inner[1]) for key, item in value.items()}
    if not isinstance(value, (list, tuple)) or kind not in ("ListType", "TupleType"):
        return value
    types = list(inner) * len(value) if kind == "ListType" else inner
    items = [as_tuples(item, types[i]) if i < len(types) else item for i, item in enumerate(value)]
    return tuple(items) if isinstance(value, tuple) else items


def _wants_fields(type_):
    if type_.kind() == "TupleType" and fields_of(type_):
        return True
    return type_.kind() != "ClassType" and any(map(_wants_fields, type_.containedTypes()))


def _can_be_tuple(value, type_):
    fields = fields_of(type_)
    if fields is None or len(fields) != len(type_.containedTypes()):
        return False
    if isinstance(value, (list, tuple)):
        return True
    return not _has_more(value, fields) and all(_has_field(value, name) for name in fields)


def _has_field(value, name):
    return name in value if isinstance(value, dict) else hasattr(value, name)


def _has_more(value, fields):
    """Returns whether a dict, or a dataclass, has a value that is not None for which the type has no field."""
    if isinstance(value, dict):
        return len(value) != len(fields)
    known = getattr(value, "__dataclass_fields__", ())
    return any(name not in fields and getattr(value, name) is not None for name in known)


def _as_tuple(value, type_):
    if isinstance(value, (list, tuple)):
        items = list(value)
    else:
        items = [value[name] if isinstance(value, dict) else getattr(value, name) for name in fields_of(type_)]
    types = type_.containedTypes()
    return tuple(as_tuples(item, types[i]) if i < len(types) else item for i, item in enumerate(items))


def cast(value, argument):
    """Returns the value as PyTorch casts it for an argument. Raises what PyTorch says of a wrong one."""
    type_ = argument.type
    value = as_tuples(value, type_)
    if argument.repeat and isinstance(value, _NUMBERS):
        value = [value] * argument.repeat
    try:
        return _identity(TypeKey(type_))(value)
    except RuntimeError:
        if not _has_type_to_infer(type_):
            raise
        return value


@functools.lru_cache(256)
def _identity(key):
    graph = torch._C.Graph()
    value = graph.addInput()
    value.setType(key.type)
    graph.registerOutput(value)
    return torch._C._create_function_from_graph("argument", graph)


def _has_type_to_infer(type_):
    """Returns whether PyTorch must guess the type of a value in it, which fails for a list of several types."""
    return type_.kind() in ("UnionType", "AnyType") or any(map(_has_type_to_infer, type_.containedTypes()))
