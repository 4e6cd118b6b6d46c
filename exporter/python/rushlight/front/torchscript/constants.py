"""Values of TorchScript as trees of constants, as GraphBuilder.tree takes them."""

import enum

import torch

from ...base import core
from ...base.errors import unsupported
from . import places
from .types import attributes_of, exported, is_program_class

NONE = ("none",)
_DEEPEST = 64  # RUSH_MAX_NESTING


def type_of(tree):
    """Returns the type of a constant as precisely as it is known."""
    return tree[1] if tree[0] in ("list", "tuple", "dict", "object", "enum") else core.Type(_KINDS[tree[0]])


_KINDS = {"none": "NoneType", "int": "int", "float": "float", "bool": "bool", "complex": "complex", "str": "str", "device": "Device",
          "tensor": "Tensor"}


def tree_of(value, type_):
    """Returns the tree of a Python value of a type.

    Raises:
        RushlightError: the value cannot be stored as data
    """
    for python, kind in _PLAIN:
        if isinstance(value, python) and not isinstance(value, enum.Enum):
            return (kind, value)
    if value is None:
        return NONE
    if isinstance(value, torch.Tensor):
        return ("tensor", value, "")
    if isinstance(value, complex):
        return ("complex", value.real, value.imag)
    if isinstance(value, torch.device):
        return ("device", str(value))
    if isinstance(value, torch.Generator):
        raise unsupported("the model uses its own random number generator, which a file cannot store: leave `generator` out, "
                          "and seed the session with manual_seed")
    container = _container(value, type_)
    if container is None:
        _refuse_lowered(type_)
        raise unsupported(f"a value of type {type_.annotation_str} cannot be stored")
    return container


_PLAIN = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"))


def _container(value, type_):
    type_ = _closed(type_, value)
    kind = type_.kind()
    if kind == "ListType" and _is_list(value):
        return ("list", exported(type_), [tree_of(item, type_.getElementType()) for item in value])
    if kind == "DictType":
        pairs = [(tree_of(k, type_.getKeyType()), tree_of(v, type_.getValueType())) for k, v in value.items()]
        return ("dict", exported(type_), [tree for pair in pairs for tree in pair])
    if kind == "TupleType" and isinstance(value, tuple):
        return _tuple([tree_of(item, inner) for item, inner in zip(value, type_.containedTypes())], type_)
    if kind == "EnumType":
        return _enum(type_, value.name, value.value)
    if kind == "AnyType":
        return _infer_container(value)
    return None


def _is_list(value):
    return isinstance(value, (list, torch._C.ScriptList))


def _closed(type_, value):
    """Returns the type of a value of an optional or a union."""
    if type_.kind() == "OptionalType":
        return _closed(type_.getElementType(), value)
    if type_.kind() == "UnionType":
        kinds = {list: "ListType", dict: "DictType", tuple: "TupleType"}
        wanted = next((kind for python, kind in kinds.items() if isinstance(value, python)), "")
        return next((t for t in type_.containedTypes() if t.kind() == wanted), type_)
    return type_


def _infer_container(value):
    if not isinstance(value, (list, tuple, dict)):
        return None
    inferred = torch._C._jit_try_infer_type(value)
    return _container(value, inferred.type()) if inferred.success() else None


def _tuple(items, type_):
    known = exported(type_)
    plain = core.Type.tuple([type_of(item) for item in items])
    return ("tuple", known if type_.str().startswith("NamedTuple(") else plain, items)


def _enum(type_, name, value):
    return ("enum", exported(type_), [("str", f"{type_.annotation_str}.{name}"), tree_of(value, type_.containedTypes()[0])])


def holds_classes(type_):
    """Returns whether values of this type are or contain objects or enums of the program's classes."""
    if is_program_class(type_) or type_.kind() == "EnumType":
        return True
    return type_.kind() != "ClassType" and any(map(holds_classes, type_.containedTypes()))


def holds_objects(type_):
    if is_program_class(type_):
        return True
    return type_.kind() != "ClassType" and any(map(holds_objects, type_.containedTypes()))


def tree_at(place, depth=0):
    """Returns the tree of the value at a place, which may contain objects."""
    type_ = place.type
    kind = type_.kind()
    if not holds_classes(type_):
        return tree_of(places.read(place), type_)
    if kind == "EnumType":
        name = places.read(place.operator("prim::EnumName", torch._C.StringType.get()))
        return _enum(type_, name, places.read(place.operator("prim::EnumValue", type_.containedTypes()[0])))
    if kind == "ClassType":
        return _object(place, depth)
    if kind == "OptionalType":
        return _optional(place, depth)
    if kind == "ListType":
        return ("list", exported(type_), _items(place, depth))
    if kind == "TupleType":
        return _tuple([tree_at(place.element(i, inner), depth) for i, inner in enumerate(type_.containedTypes())], type_)
    if kind == "DictType":
        keys = [tree_of(key, type_.getKeyType()) for key in _keys(place)]
        values = _items(place.values(type_.getValueType()), depth)
        return ("dict", exported(type_), [tree for pair in zip(keys, values) for tree in pair])
    raise unsupported(f"a value of type {type_.annotation_str} cannot be stored")


def _refuse_lowered(type_):
    if ".torch.classes.rushlight." in type_.annotation_str:
        raise unsupported("a part of this model was lowered already: export the model as it was before rushlight.lower")


def _keys(place):
    list_type = torch._C.ListType(place.type.getKeyType())
    return places.read(place.operator("aten::keys", list_type))


def _items(place, depth):
    return [tree_at(place.item(i, place.type.getElementType()), depth) for i in range(places.length(place))]


def _optional(place, depth):
    inner = place.type.getElementType()
    if places.read(place.operator("aten::__is__", torch._C.BoolType.get(), None)):
        return NONE
    return tree_at(place.operator("prim::unchecked_cast", inner), depth)


def _object(place, depth):
    if depth > _DEEPEST:
        raise unsupported(f"objects of {place.type.annotation_str} that refer to each other in a cycle cannot be stored")
    items = [tree_at(place.attribute(name, type_), depth + 1) for name, type_ in attributes_of(place.type)]
    return ("object", exported(place.type), items)


def with_names(tree, name):
    """Returns the tree, in which name(tensor) names the tensors."""
    if tree[0] == "tensor":
        return ("tensor", tree[1].detach(), name(tree[1]))
    if len(tree) == 3 and isinstance(tree[2], list):
        return (*tree[:2], [with_names(item, name) for item in tree[2]])
    return tree
