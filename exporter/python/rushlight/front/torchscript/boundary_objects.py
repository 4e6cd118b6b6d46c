"""Enums and objects of the program's own classes as inputs and results.

Callers see named tuples: the name and the value of an enum, the attributes of an object.
"""

import functools
import types

import torch

from . import graphs
from .constants import holds_classes
from .named_tuples import named_tuple
from .types import TypeKey, attributes_of, fields_of, is_program_class, members_of, tuple_name

_BOOL, _INT, _STR = torch._C.BoolType.get(), torch._C.IntType.get(), torch._C.StringType.get()
_DEEPEST = 16


def boundary_type(type_, depth=0):
    """Returns the type that callers see. Recursion into a class that contains itself ends after a few levels."""
    if depth > _DEEPEST:
        return type_
    kind = type_.kind()
    if kind == "EnumType":
        return named_tuple(tuple_name(type_), ["name", "value"], [_STR, type_.containedTypes()[0]])
    if is_program_class(type_):
        attributes = [(name, boundary_type(inner, depth + 1)) for name, inner in attributes_of(type_)]
        return named_tuple(tuple_name(type_), *map(list, zip(*attributes))) if attributes else type_
    if kind not in _MAKE:
        return type_
    inner = type_.containedTypes()
    items = [boundary_type(item, depth + 1) for item in inner]
    if all(a == b for a, b in zip(items, inner)):
        return type_
    fields = fields_of(type_) if kind == "TupleType" else None
    return _MAKE[kind](items) if fields is None else named_tuple(tuple_name(type_), fields, items)


_MAKE = {
    "ListType": lambda items: torch._C.ListType(items[0]),
    "OptionalType": lambda items: torch._C.OptionalType(items[0]),
    "DictType": lambda items: torch._C.DictType(*items),
    "TupleType": torch._C.TupleType,
}


def becomes_tuple(type_):
    """Returns whether all classes in the type can become tuples."""
    return holds_classes(type_) and not holds_classes(boundary_type(type_))


class _Conversion:
    """Inserts the conversion at the graph's insertion point."""

    def __init__(self, graph, inward):
        self.graph, self.inward = graph, inward

    def convert(self, value, own):
        """`own` is the type inside of the program."""
        if not holds_classes(own):
            return value
        if is_program_class(own):
            return self.object(value, own) if self.inward else self.attributes(value, own)
        if own.kind() == "EnumType":
            return self.enum_member(value, own) if self.inward else self.enum_parts(value, own)
        return {"OptionalType": self.optional, "ListType": self.list, "DictType": self.dict}.get(own.kind(), self.tuple)(value, own)

    def call(self, kind, inputs, type_):
        return graphs.call(self.graph, kind, inputs, type_)

    def constant(self, value):
        return self.graph.insertConstant(value)

    def source_type(self, own):
        return boundary_type(own) if self.inward else own

    def target_type(self, own):
        return own if self.inward else boundary_type(own)

    def unpack(self, value, types):
        return list(graphs.add(self.graph, "prim::TupleUnpack", [value], types).outputs())

    def attributes(self, value, own):
        items = [self.convert(graphs.get_attr(self.graph, value, name, inner), inner) for name, inner in attributes_of(own)]
        return self.call("prim::TupleConstruct", items, boundary_type(own))

    def object(self, value, own):
        attributes = attributes_of(own)
        items = self.unpack(value, value.type().containedTypes())
        created = self.call("prim::CreateObject", [], own)
        for (name, inner), item in zip(attributes, items):
            node = graphs.add(self.graph, "prim::SetAttr", [created, self.convert(item, inner)])
            node.s_("name", name)
        return created

    def enum_parts(self, value, own):
        name = self.call("prim::EnumName", [value], _STR)
        number = self.call("prim::EnumValue", [value], own.containedTypes()[0])
        return self.call("prim::TupleConstruct", [name, number], boundary_type(own))

    def enum_member(self, value, own):
        """Returns the member of that name."""
        name = self.unpack(value, value.type().containedTypes())[0]
        return self.choose_member(name, own, members_of(own))

    def choose_member(self, name, own, members):
        if not members:
            text = self.constant(f"it must be the name of a member of {tuple_name(own)}")
            graphs.add(self.graph, "prim::RaiseException", [text, self.constant("builtins.ValueError")])
            return self.call("prim::Uninitialized", [], own)
        (word, value), *rest = members
        found = self.call("aten::eq", [name, self.constant(word)], _BOOL)
        return self.branch(found, own, lambda: _insert_member(self.graph, own, word, value), lambda: self.choose_member(name, own, rest))

    def branch(self, condition, type_, yes, no):
        node = graphs.add(self.graph, "prim::If", [condition])
        first, second = node.addBlock(), node.addBlock()
        for block, make in ((first, yes), (second, no)):
            with graphs.before(self.graph, block):
                block.registerOutput(make())
        output = node.addOutput()
        output.setType(type_)
        return output

    def optional(self, value, own):
        item = own.getElementType()
        some = self.call("aten::__isnot__", [value, self.constant(None)], _BOOL)
        return self.branch(some, self.target_type(own),
                           lambda: self.convert(self.call("prim::unchecked_cast", [value], self.source_type(item)), item),
                           lambda: self.constant(None))

    def tuple(self, value, own):
        inner = own.containedTypes()
        items = [self.convert(item, type_) for item, type_ in zip(self.unpack(value, value.type().containedTypes()), inner)]
        return self.call("prim::TupleConstruct", items, self.target_type(own))

    def each(self, count, body):
        loop = graphs.add(self.graph, "prim::Loop", [count, self.constant(True)])
        block = loop.addBlock()
        i = block.addInputToBlock()
        i.setType(_INT)
        with graphs.before(self.graph, block):
            body(i)
            block.registerOutput(self.constant(True))

    def list(self, value, own):
        item = own.getElementType()
        list_type = torch._C.ListType(self.target_type(item))
        created = self.call("prim::ListConstruct", [], list_type)

        def add(i):
            one = self.call("aten::__getitem__", [value, i], self.source_type(item))
            self.call("aten::append", [created, self.convert(one, item)], list_type)

        self.each(self.call("aten::len", [value], _INT), add)
        return created

    def dict(self, value, own):
        key_type, item = own.getKeyType(), own.getValueType()
        created = self.call("prim::DictConstruct", [], torch._C.DictType(key_type, self.target_type(item)))
        keys = self.call("aten::keys", [value], torch._C.ListType(key_type))

        def add(i):
            key = self.call("aten::__getitem__", [keys, i], key_type)
            one = self.call("aten::__getitem__", [value, key], self.source_type(item))
            graphs.add(self.graph, "aten::_set_item", [created, key, self.convert(one, item)])

        self.each(self.call("aten::len", [keys], _INT), add)
        return created


def _insert_member(graph, own, word, value):
    """Inserts the member of an enum as a constant. Only freezing makes one of a type that Python does not know."""
    node = next(_frozen_member(TypeKey(own), word, value)._get_method("forward").graph.outputs()).node()
    return graph.insertNode(graph.createClone(node, lambda value: value)).output()


@functools.lru_cache(4096)
def _frozen_member(key, word, value):
    holder = torch._C.ScriptModule("__torch__.Holder", torch._C.CompilationUnit(), True)
    holder._register_attribute("member", key.type, types.SimpleNamespace(name=word, value=value))
    concrete = torch._C.ConcreteModuleType.from_jit_type(holder._type())
    holder._define(concrete, "def forward(self):\n    return self.member\n", lambda name: None)
    return torch._C._freeze_module(holder, [])


def is_optional_object(type_):
    return type_.kind() == "OptionalType" and is_program_class(type_.getElementType())


def form_of(argument):
    """Returns the form in which callers pass an argument: "same", "tuple" or "omitted".

    An optional object whose default is None is omitted: programs use it in ways that no file supports (torch_geometric's sparse
    tensors), and callers rarely pass one. argument_type() then gives it the type None.
    """
    if argument.has_default and argument.default is None and is_optional_object(argument.type):
        return "omitted"
    return "tuple" if becomes_tuple(argument.type) else "same"


def with_tuples(graph, arguments, result):
    """Returns the graph with tuples as inputs and results.

    Args:
        arguments: of all inputs
        result: the type of the result
    """
    out = torch._C.Graph()
    taken = []
    for value, argument in zip(graph.inputs(), arguments):
        taken.append(out.addInput())
        taken[-1].setType(boundary_type(argument.type) if form_of(argument) == "tuple" else value.type())
        graphs.keep_name(taken[-1], value)
    inward, outward = _Conversion(out, True), _Conversion(out, False)
    values = [inward.convert(value, argument.type) if form_of(argument) == "tuple" else value
              for value, argument in zip(taken, arguments)]
    value = graphs.insert_graph(out, graph, values)[0]
    out.registerOutput(outward.convert(value, result) if becomes_tuple(result) else value)
    return out


def argument_type(type_):
    """Returns the type of an argument that comes from outside of the program: without the program's classes, if another type or None is
    allowed."""
    if is_optional_object(type_):
        return torch._C.NoneType.get()
    if type_.kind() != "UnionType":
        return type_
    kept = [t for t in type_.containedTypes() if not is_program_class(t)]
    if not kept:
        return type_
    if len(kept) == 1:
        return kept[0]
    nones = [t for t in kept if t.kind() == "NoneType"]
    if len(kept) > 2 or not nones:
        return torch._C.UnionType(kept)
    return torch._C.OptionalType(next(t for t in kept if t.kind() != "NoneType"))
