"""Objects of the program's classes that are attributes of modules."""

import torch

from ...base.errors import unsupported
from . import places
from .places import Place
from .types import attributes_of, exported, is_module, is_program_class

_PACKED = ("__torch__.torch.classes.quantized.", "__torch__.torch.classes.rnn.")


def objects_as_values(module, graphs):
    """Returns the identities of objects in attributes of `module` that these graphs use as values: they pass, compare or replace them.

    Other objects are like submodules: their attributes are the model's.
    """
    found = set()
    for graph in graphs:
        _Scan(found).graph(module, graph)
    return found


class _Scan:
    def __init__(self, found):
        self.found, self.known = found, {}

    def graph(self, module, graph):
        first = next(graph.inputs())
        self.known[first.unique()] = Place(first.type(), module)
        self.block(graph)

    def block(self, block):
        for node in block.nodes():
            self.node(node)
        self.values(block.outputs())

    def values(self, values):
        for value in values:
            place = self.known.get(value.unique())
            if place is not None:
                self.is_value(place)

    def is_value(self, place):
        if is_program_class(place.type):
            self.found.add(places.identity(place))

    def node(self, node):
        kind = node.kind()
        if kind == "prim::Constant":
            if is_program_class(node.output().type()):
                self.known[node.output().unique()] = Place(node.output().type(), node=node)
            return
        attribute = kind in ("prim::GetAttr", "prim::SetAttr")
        owner = self.known.get(node.inputsAt(0).unique()) if attribute else None
        self.values(list(node.inputs())[attribute:])
        if owner is not None:
            self.attribute(node, owner, node.s("name"))
        for inner in node.blocks():
            self.block(inner)

    def attribute(self, node, owner, name):
        type_ = attribute_type(owner, name)
        if node.kind() == "prim::SetAttr":
            if is_program_class(type_):
                self.is_value(owner.attribute(name, type_))
        elif type_.kind() == "ClassType":
            self.known[node.output().unique()] = owner.attribute(name, node.output().type())


def attribute_type(owner, name):
    """Returns the type of an attribute of the module or object at a place."""
    if is_module(owner.type):
        concrete = _concrete(owner.type)
        known = concrete.get_attributes().get(name)
        return known[0] if known else next(inner.jit_type for of, inner in concrete.get_modules() if of == name)
    return dict(attributes_of(owner.type))[name]


def _concrete(type_):
    return torch._C.ConcreteModuleType.from_jit_type(type_)


def packed_class(type_):
    """Returns the C++ class of packed quantized weights of a type that is or contains one; "" otherwise."""
    name = type_.annotation_str if type_.kind() == "ClassType" else ""
    for start in _PACKED:
        if name.startswith(start):
            return name[len(start):]
    inner = type_.containedTypes() if type_.kind() != "ClassType" or is_program_class(type_) else ()
    return next(filter(None, map(packed_class, inner)), "")


class Contents:
    """The lists, dicts and objects in attributes."""

    def __init__(self):
        self.found = []  # (place, attribute)

    def add(self, place, attribute):
        """Raises RushlightError if another attribute holds one of those in the value at this place."""
        containers = list(_containers(place, 0))
        for inner in containers:
            for other, name in self.found:
                if other.type == inner.type and places.are_same(other, inner):
                    kind = "object" if inner.type.kind() == "ClassType" else "list or dict"
                    raise unsupported(f"the attributes '{name}' and '{attribute}' hold the same {kind}, but a change of one "
                                      "would not reach the other: give each a copy")
            self.found.append((inner, attribute))


def _containers(place, depth):
    """Places of all lists, dicts and objects in a value."""
    type_ = place.type
    kind = type_.kind()
    if kind == "OptionalType" and _has_containers(type_.getElementType()):
        if not places.read(place.operator("aten::__is__", torch._C.BoolType.get(), None)):
            yield from _containers(place.operator("prim::unchecked_cast", type_.getElementType()), depth)
    if not _has_containers(type_) or depth > 64:
        return
    if kind in ("ListType", "DictType") or is_program_class(type_):
        yield place
    if kind == "ListType" and _has_containers(type_.getElementType()):
        for i in range(places.length(place)):
            yield from _containers(place.item(i, type_.getElementType()), depth + 1)
    if kind == "DictType" and _has_containers(type_.getValueType()):
        values = place.values(type_.getValueType())
        for i in range(places.length(values)):
            yield from _containers(values.item(i, type_.getValueType()), depth + 1)
    if kind == "TupleType":
        for i, inner in enumerate(type_.containedTypes()):
            yield from _containers(place.element(i, inner), depth + 1)
    if is_program_class(type_):
        for name, inner in attributes_of(type_):
            yield from _containers(place.attribute(name, inner), depth + 1)


def _has_containers(type_):
    if type_.kind() in ("ListType", "DictType") or is_program_class(type_):
        return True
    return type_.kind() in ("TupleType", "OptionalType") and any(map(_has_containers, type_.containedTypes()))


def refuse_own_classes(type_, what):
    """Raises RushlightError if the type has objects or enums of the program's classes."""
    if type_.kind() == "EnumType" or type_.kind() in ("ClassType", "InterfaceType"):
        raise unsupported(f"{what} must not be of the program's own type {exported(type_)}: pass its attributes (the name or value of an "
                          "enum)")
    for inner in type_.containedTypes():
        refuse_own_classes(inner, what)
