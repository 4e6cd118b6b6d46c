"""The types of a program's values."""

import functools

from . import native


class Type:
    """A type, from its text: "Tensor", "int[]", "Dict(str, int)", "Point(x : int, y : int)". The other constructors combine types.

    Attributes:
        text (str): the type as text
        items (list of Type): the types inside of it, such as that of a list's items
    """

    __slots__ = ("text", "items", "described")

    def __new__(cls, text):
        return text if isinstance(text, Type) else _parsed(text)

    @staticmethod
    def list(item):
        return _make_type("list", [Type(item)])

    @staticmethod
    def dict(key, item):
        return _make_type("Dict", [Type(key), Type(item)])

    @staticmethod
    def tuple(items, name="", fields=()):
        return _make_type("tuple", list(map(Type, items)), name, fields)

    @staticmethod
    def optional(item):
        return _make_type("optional", [Type(item)])

    @staticmethod
    def union(items):
        return _make_type("Union", list(map(Type, items)))

    @staticmethod
    def object(name, fields):
        return _make_type("Object", [], name, fields)

    @staticmethod
    def enum(name):
        return _make_type("Enum", [], name)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"Type({self.text!r})"

    def __eq__(self, other):
        return isinstance(other, Type) and self.described == other.described

    def __hash__(self):
        return hash(self.text)


@functools.cache
def _parsed(text):
    return type_of(native.call("parse_type", text))


def type_of(described):
    """Returns the type that librushlight_native describes: its text, or a dict with "kind", "items", "name" and "fields"."""
    if isinstance(described, str):
        return _parsed(described)
    items = list(map(type_of, described.get("items", ())))
    return _make_type(described["kind"], items, described.get("name", ""), described.get("fields", ()))


def _make_type(kind, items, name="", fields=()):
    out = object.__new__(Type)
    out.items, fields = items, list(fields)
    inner = ", ".join([f"{field} : {item}" for field, item in zip(fields, items, strict=True)] if items and fields else map(str, items))
    out.text = _TEXTS.get(kind, _plain)(kind, inner, name, len(items))
    # The text of an object's type lacks its fields.
    is_text = not (kind == "Object" and fields) and all(isinstance(item.described, str) for item in items)
    out.described = out.text if is_text else {"kind": kind, "items": [item.described for item in items], "name": name, "fields": fields}
    return out


def _plain(kind, inner, name, count):
    return f"{kind}({inner or name})" if inner or name else kind


_TEXTS = {
    "list": lambda kind, inner, name, count: f"{inner}[]",
    "optional": lambda kind, inner, name, count: f"{inner}?",
    "tuple": lambda kind, inner, name, count: f"{name}({inner}{',' * (count == 1 and not name)})",
}
