"""Named tuples of TorchScript, which are made of Python's."""

import typing

import torch

from .types import fields_of, tuple_name

_PLAIN = {"IntType": int, "FloatType": float, "BoolType": bool, "StringType": str, "ComplexType": complex, "TensorType": torch.Tensor,
          "DeviceObjType": torch.device, "NoneType": type(None)}
_classes = {}


def named_tuple(name, fields, types):
    """Returns the type of a named tuple with these fields."""
    key = (name, tuple(fields), tuple(t.str() for t in types))
    if key not in _classes:
        _classes[key] = _python_class(name, fields, types)
    unit = torch._C.CompilationUnit()
    unit.define("def f(x: Result):\n    return x\n", {"Result": _classes[key]}.get)
    return next(unit.find_function("f").graph.inputs()).type()


def _python_class(name, fields, types):
    # A name that Python does not allow as a field would be refused by typing.NamedTuple: TorchScript has none.
    created = typing.NamedTuple(name, [(field, _annotation(type_)) for field, type_ in zip(fields, types)])
    created.__module__ = f"{__name__}.of_{len(_classes)}"  # TorchScript has one type of each module and name
    return created


def _annotation(type_):
    kind, inner = type_.kind(), type_.containedTypes()
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "TupleType" and fields_of(type_) is not None:
        key = (tuple_name(type_), tuple(fields_of(type_)), tuple(t.str() for t in inner))
        return _classes.setdefault(key, _python_class(tuple_name(type_), fields_of(type_), inner))
    items = [_annotation(t) for t in inner]
    return {"ListType": lambda: typing.List[items[0]], "OptionalType": lambda: typing.Optional[items[0]],
            "DictType": lambda: typing.Dict[items[0], items[1]], "TupleType": lambda: typing.Tuple[tuple(items)],
            "UnionType": lambda: typing.Union[tuple(items)]}.get(kind, lambda: typing.Any)()
