"""Types of TorchScript: as the exporter has them, and what the program's own classes contain."""

import ast
import functools
import io
import operator
import zipfile

import torch

from ...base import core

_SIMPLE = {
    "NoneType": "NoneType", "TensorType": "Tensor", "IntType": "int", "SymIntType": "int", "ScalarTypeType": "int", "LayoutType": "int",
    "MemoryFormatType": "int", "FloatType": "float", "SymFloatType": "float", "BoolType": "bool", "SymBoolType": "bool",
    "ComplexType": "complex", "StringType": "str", "NumberType": "Scalar", "DeviceObjType": "Device", "GeneratorType": "Generator",
}


def exported(type_):
    """Returns the exporter's type for a type of TorchScript."""
    kind = type_.kind()
    if kind in _SIMPLE:
        return core.Type(_SIMPLE[kind])
    items = [exported(t) for t in type_.containedTypes()] if kind in _CONTAINERS else []
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](type_, items)
    if kind == "AnyListType":
        return core.Type.list(core.Type("Any"))
    if kind == "ClassType":
        return core.Type.object(type_.annotation_str, [name for name, _ in attributes_of(type_)])
    if kind == "InterfaceType":
        return core.Type.object(type_.annotation_str, [])
    if kind == "EnumType":
        return core.Type.enum(type_.annotation_str)
    return core.Type("Any")  # type variables of schemas, Any, streams


def _tuple(type_, items):
    fields = fields_of(type_)
    return core.Type.tuple(items, tuple_name(type_), fields) if fields is not None else core.Type.tuple(items)


_CONTAINERS = {
    "ListType": lambda type_, items: core.Type.list(items[0]),
    "DictType": lambda type_, items: core.Type.dict(*items),
    "OptionalType": lambda type_, items: core.Type.optional(items[0]),
    "UnionType": lambda type_, items: core.Type.union(items),
    "FutureType": lambda type_, items: items[0],  # forked code runs in place: a future is its value
    "AwaitType": lambda type_, items: items[0],
    "TupleType": _tuple,
}


def contained(type_, i):
    return type_.containedTypes()[i]


def fields_of(type_):
    """Returns the fields of a named tuple; None for a plain tuple."""
    text = type_.str()
    if not text.startswith("NamedTuple("):
        return None
    fields, depth, start = [], 0, len("NamedTuple(")
    for i in range(start, len(text)):
        depth += (text[i] in "([<") - (text[i] in ")]>")
        if (text[i] == "," and depth == 0) or depth < 0:
            fields.append(text[start:i].partition(" : ")[0].strip())
            start = i + 1
    return fields if type_.containedTypes() else []


def tuple_name(type_):
    """Returns the name of the class of a named tuple or enum. The tuples that operators return have none."""
    text = type_.annotation_str
    return "NamedTuple" if text.startswith("Tuple[") else text.rpartition(".")[2]


def is_program_class(type_):
    """Returns whether the program defines this class: it is neither a module nor a class of C++."""
    return type_.kind() == "ClassType" and not is_module(type_) and ".torch.classes." not in type_.annotation_str


class TypeKey:
    """A type as the key of a cache. Several files may have classes of one name, so a class or an enum is known by its object."""

    def __init__(self, type_):
        self.type, self.text, self.named = type_, type_.str() + type_.annotation_str, list(_named_types(type_))

    def __eq__(self, other):
        return self.text == other.text and all(map(operator.is_, self.named, other.named))

    def __hash__(self):
        return hash(self.text)


def _named_types(type_):
    if type_.kind() in ("ClassType", "EnumType", "InterfaceType"):
        yield type_
    else:
        for inner in type_.containedTypes():
            yield from _named_types(inner)


def is_module(type_):
    return type_.kind() == "ClassType" and ".torch.classes." not in type_.annotation_str and _is_module(TypeKey(type_))


@functools.lru_cache(4096)
def _is_module(key):
    type_ = key.type
    if not type_.containedTypes():
        return any(isinstance(base, ast.Name) and base.id == "Module" for base in _definition(type_).bases)
    try:
        torch._C.ConcreteModuleType.from_jit_type(type_)
        return True
    except RuntimeError:  # it asks the class for its buffers, which only a module has
        return False


def _definition(type_):
    """Returns the definition of a class or enum of the program, as TorchScript prints it into files."""
    return _printed_definition(TypeKey(type_))


@functools.lru_cache(4096)
def _printed_definition(key):
    graph = torch._C.Graph()
    value = graph.addInput()
    value.setType(key.type)
    graph.registerOutput(value)
    with zipfile.ZipFile(io.BytesIO(torch._C._create_function_from_graph("f", graph).save_to_buffer())) as files:
        text = "\n".join(files.read(f).decode() for f in files.namelist() if f.endswith(".py"))
    name = key.type.annotation_str.rpartition(".")[2]
    return next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name)


def attributes_of(type_):
    """Returns [(name, type), ...] of a class of the program, in their order."""
    if is_module(type_) or ".torch.classes." in type_.annotation_str:
        return []
    names = [node.target.id for node in _definition(type_).body if isinstance(node, ast.AnnAssign)]
    return list(zip(names, type_.containedTypes(), strict=True))


def members_of(type_):
    """Returns [(name, value), ...] of an enum of the program, in their order."""
    return [(node.targets[0].id, ast.literal_eval(node.value)) for node in _definition(type_).body if isinstance(node, ast.Assign)]


def module_attributes(module):
    """Returns {name: type} of a module's attributes that are not modules."""
    found = torch._C.ConcreteModuleType.from_jit_type(module._type()).get_attributes()
    return {name: type_ for name, (type_, _) in found.items()}
