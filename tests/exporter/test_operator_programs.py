"""Operators that are programs of others (front/torchscript/operators): each compiles, and takes the arguments of its operator."""

import re

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 - registers quantized_decomposed
from rushlight.front.torchscript import operator_programs

OPERATORS = {}
for schema in torch._C._jit_get_all_schemas():
    space, name = schema.name.split("::")
    if space in ("aten", "prim", "quantized", "quantized_decomposed"):
        OPERATORS.setdefault(name if space == "aten" else f"{space}_{name}", {})[schema.overload_name] = schema


#: The arguments that a program takes in place of packed weights (front/torchscript/packed_weights.py).
PARTS = {"LinearPackedParamsBase": 5, "Conv2dPackedParamsBase": 11, "Conv3dPackedParamsBase": 11, "List[__torch__.torch.classes.rnn.CellParamsBase]": 6}


#: Arguments that only later versions of PyTorch have. A call with such an argument is refused.
LATER = ("align_to_window",)


def arguments(schema):
    kinds = [argument.type.annotation_str for argument in schema.arguments if argument.name not in LATER]
    return sum(PARTS.get(kind.removeprefix("__torch__.torch.classes.quantized."), 1) for kind in kinds)


@pytest.mark.parametrize("name", operator_programs.names())
def test_a_program_takes_what_its_operator_takes(name):
    text = operator_programs.schema(name)  # compiles it
    name = re.sub("_?_of_complex$", "", name)  # of the operator with a complex weight
    operator, mark, overload = ("", "", name) if name in OPERATORS else name.rpartition("__")
    overloads = OPERATORS.get(operator if mark else name)
    if overloads is None:
        assert not mark, f"there is no operator {operator}"
        return  # a part of others
    chosen = [overloads[overload]] if mark else overloads.values()
    wanted = len(torch._C.parse_schema(text).arguments)
    assert wanted in [arguments(schema) for schema in chosen], text
