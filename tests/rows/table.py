"""Reads the rows of wasm/src/ops/ops.def."""

import dataclasses
import re
from pathlib import Path

OPS = Path(__file__).resolve().parents[2] / "wasm/src/ops"
ROW = re.compile(r'^(?:OP|PREPARED|POINTWISE|REDUCE)\((\w+),\s*"((?:[^"\\]|\\.)*)"\s*,\s*(.*)\)$', re.M)


@dataclasses.dataclass(frozen=True)
class OpsRow:
    family: str
    id: str
    name: str  # "aten::add.Tensor"
    schema: str
    in_place: str  # the name of its in-place form, "aten::add_.Tensor", or ""


def in_place_of(name):
    operator, dot, overload = name.partition(".")
    return f"{operator}_{dot}{overload}"


def rows():
    """Returns all rows in the order of the table."""
    found = []
    for family in re.findall(r'#include "ops/(\w+)/\w+\.def"', (OPS / "ops.def").read_text()):
        text = (OPS / family / f"{family}.def").read_text()
        for id_, schema, flags in ROW.findall(text):
            schema = schema.encode().decode("unicode_escape")
            name = schema.split("(")[0]
            found.append(OpsRow(family, id_, name, schema, in_place_of(name) if "RUSH_OP_INPLACE" in flags else ""))
        assert len(re.findall(r"^(?:OP|PREPARED|POINTWISE|REDUCE)\(", text, re.M)) == sum(r.family == family for r in found), family
    return found
