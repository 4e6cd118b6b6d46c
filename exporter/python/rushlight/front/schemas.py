"""Schemas of operators that this torch or a loaded library registers, as text."""

import re

import torch

_SCHEMA = re.compile(r"^schema: (.*)$", re.M)
_ALIASES = re.compile(r"^alias analysis kind: (.*)$", re.M)
_BUILT_IN = ("aten", "prim", "prims", "cuda")


def schema_of(op):
    """Returns the schema of an operator by its full name, "aten::add.Tensor", or None if there is none.

    Returns:
        {"text", "trusted", "random"}: whether its alias annotations are true, and whether it draws random numbers
    """
    dump = torch._C._dispatch_dump(op)
    text = _SCHEMA.search(dump)
    if text and text[1] != "(none)":
        return {"text": text[1], "trusted": _is_annotated(dump), "random": _draws(op)}
    text = next((str(schema) for schema in _schemas(op.partition(".")[0]) if _full_name(schema) == op), None)
    return text and {"text": text, "trusted": op.partition("::")[0] in _BUILT_IN, "random": False}


def overloads_of(name):
    """Returns the full names of all overloads of an operator such as "aten::add"."""
    return [_full_name(schema) for schema in _schemas(name)]


def _schemas(name):
    return torch._C._jit_get_schemas_for_operator(name)


def _full_name(schema):
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def _is_annotated(dump):
    """A schema that is inferred from a signature in C++ has no annotations."""
    kind = _ALIASES.search(dump)[1]
    return "CONSERVATIVE" not in kind and not kind.endswith("(default)")


def _draws(op):
    name, _, overload = op.partition(".")
    found = torch._C._get_operation_overload(name, overload)
    return found is not None and torch.Tag.nondeterministic_seeded in found[2]
