"""The source of a lowered module's methods. This is the only file of the package that compiles text.

The text of a file is not trusted: it may be any characters. The source is made of the words below and of numbers. The one
exception is the name of an input, which callers write (`module(x=...)`): `is_word` decides whether it may stand in source.
"""

import itertools
import keyword
import linecache
import re
import typing

import torch

_numbers = itertools.count()

_PLAIN = {"Tensor": torch.Tensor, "int": int, "float": float, "bool": bool, "str": str, "complex": complex,
          "NoneType": type(None), "Device": torch.device}
_TEXTS = {**{name: name for name in _PLAIN}, "NoneType": "None", "Device": "torch.device"}
_SCOPE = {"torch": torch, "Tensor": torch.Tensor, "Any": typing.Any, "Dict": typing.Dict, "List": typing.List,
          "Optional": typing.Optional, "Tuple": typing.Tuple, "Union": typing.Union, "__name__": f"{__package__}.lower"}
# Words of the source, which cannot be names of inputs.
_OURS = {*_SCOPE, *_PLAIN, "self", "_args", "_interpreter", "_result", "_Result"}


def is_word(text):
    """Returns whether the name of an input may be a word of the source."""
    return (re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text) is not None and not text.startswith("__")
            and not keyword.iskeyword(text) and text not in _OURS)


class Type(typing.NamedTuple):
    """A type: its TorchScript annotation, the same as a Python object, and the name of a named tuple."""
    text: str
    value: object
    name: str = ""


_ANY = Type("Any", typing.Any)


def parse_type(text):
    """Returns the Type from its text in rushlight.describe ("Dict(str, Tensor[])"); Any if the text is unknown."""
    try:
        return _next_type(re.findall(r"\[\]|[(),?]|[^\s(),?\[\]]+", text))
    except (IndexError, TypeError):  # the name of a tuple may be anything
        return _ANY


def _next_type(tokens):
    name = tokens.pop(0) if tokens[0] != "(" else ""
    out = _container(name, _items(tokens)) if tokens and tokens[0] == "(" else (
        Type(_TEXTS[name], _PLAIN[name]) if name in _PLAIN else _ANY)
    while tokens and tokens[0] in ("[]", "?"):
        out = (Type(f"List[{out.text}]", typing.List[out.value]) if tokens.pop(0) == "[]" else
               Type(f"Optional[{out.text}]", typing.Optional[out.value]))
    return out


def _items(tokens):
    items = []
    tokens.pop(0)
    while tokens[0] != ")":
        items.append(_next_type(tokens))
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return items


def _container(name, items):
    texts, values = ", ".join(i.text for i in items), tuple(i.value for i in items)
    if name == "Dict" and len(items) == 2:
        return Type(f"Dict[{texts}]", typing.Dict[values])
    if name == "Union" and items:
        return Type(f"Union[{texts}]", typing.Union[values])
    if name in ("Dict", "Union", "Future"):
        return _ANY
    return Type(f"Tuple[{texts or '()'}]", typing.Tuple[values or ((),)], name)


def _parameters(names):
    """Returns the names of the inputs. A name that cannot be a word of the source becomes input_N."""
    out = []
    for i, name in enumerate(names):
        own = is_word(name) and name not in out and not re.fullmatch(r"input_\d+", name)
        out.append(name if own else f"input_{i}")
    return out


def _named_tuple(type, fields):
    """Returns the class of a named tuple; None if the type is another, or its names cannot be words of the source."""
    items = typing.get_args(type.value)
    plain = all(is_word(f) and not f.startswith("_") for f in (type.name, *fields))
    if not plain or not type.text.startswith("Tuple[") or len(items) != len(fields) or len({*fields}) < len(fields):
        return None
    return typing.NamedTuple(type.name, list(zip(fields, items)))


def _ending(type, fields, scope):
    """Returns the annotation of a result, and the lines that convert `_result` of type Any to it."""
    if type.text in ("Any", "None"):
        return type.text, ["return _result" if type.text == "Any" else "return None"]
    lines = [f"assert torch.jit.isinstance(_result, {type.text})"]
    named = _named_tuple(type, fields)
    if not named:
        return type.text, [*lines, "return _result"]
    scope["_Result"] = named
    return "_Result", [*lines, f"return _Result({', '.join(f'_result[{i}]' for i in range(len(fields)))})"]


def functions(index, inputs, result, fields):
    """Makes two functions for the method number `index` of a file: one that takes the interpreter, and the module's own.

    Args:
        inputs: (name, type, whether it is optional, default) of each
        result: the type of the result
        fields: names of the outputs
    """
    scope = dict(_SCOPE)
    names = _parameters([i[0] for i in inputs])
    parameters = [f"{name}: {parse_type(i[1]).text}" for name, i in zip(names, inputs)]
    annotation, ending = _ending(parse_type(result), fields, scope)

    def body(interpreter, indent):
        return "".join(f"{indent}{line}\n" for line in [
            f"_args: List[Any] = [{', '.join(names)}]",
            f"_result = {interpreter}.call({interpreter}.methods()[{index}], _args)", *ending])

    _define(
        f"def outside({', '.join(['_interpreter: torch.classes.rushlight.Interpreter', *parameters])}) -> {annotation}:\n"
        + body("_interpreter", "    ")
        + f"\n\ndef inside({', '.join(['self', *parameters])}) -> {annotation}:\n"
        + "    if torch.jit.is_scripting():\n" + body("self.interpreter", "        ")
        + f"    else:\n        return self._run({', '.join([str(index), *names])})\n", scope)
    created = scope["outside"], scope["inside"]
    for function in created:
        function.__defaults__ = tuple(value for _, _, optional, value in inputs if optional)
    return created


def _define(source, scope):
    filename = f"<rushlight lowered {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)  # TorchScript reads it
    exec(compile(source, filename, "exec"), scope)
