"""Converts Python's arithmetic on sizes and other numbers to operators."""

import math
import operator

import torch

# (operator for ints, operator for floats). None: the result is the number itself.
NUMBERS = {
    operator.add: ("aten::add.int", "aten::add.float"),
    operator.sub: ("aten::sub.int", "aten::sub.float"),
    operator.mul: ("aten::mul.int", "aten::mul.float"),
    operator.floordiv: ("aten::floordiv.int", "aten::floordiv.float"),
    operator.mod: ("aten::remainder.int", "aten::remainder.float"),
    operator.truediv: ("aten::div.int", "aten::div.float"),
    operator.pow: ("aten::pow.int_to_int", "aten::pow.float"),
    operator.neg: ("aten::neg.int", "aten::neg.float"),
    operator.pos: (None, None),
    abs: ("prim::abs.int", "prim::abs.float"),
    operator.eq: ("aten::eq.int", "aten::eq.float"),
    operator.ne: ("aten::ne.int", "aten::ne.float"),
    operator.lt: ("aten::lt.int", "aten::lt.float"),
    operator.le: ("aten::le.int", "aten::le.float"),
    operator.gt: ("aten::gt.int", "aten::gt.float"),
    operator.ge: ("aten::ge.int", "aten::ge.float"),
    torch.sym_max: ("prim::max.int", "prim::max.float"),
    torch.sym_min: ("prim::min.int", "prim::min.float"),
    max: ("prim::max.int", "prim::max.float"),
    min: ("prim::min.int", "prim::min.float"),
    math.floor: (None, "aten::floor.float"),
    math.ceil: (None, "aten::ceil.float"),
    round: (None, "aten::round.float"),
}
BOOLS = {operator.and_: "aten::__and__.bool", operator.or_: "aten::__or__.bool", torch.sym_not: "aten::__not__",
         operator.not_: "aten::__not__"}
# {name of the function: (type that it leaves unchanged, operator for other types)}.
CASTS = {name: ("float", "aten::Float.Scalar") for name in ("sym_float", "_sym_float", "float")}
CASTS |= {name: ("int", "aten::Int.Scalar") for name in ("sym_int", "_sym_int", "int", "trunc")}
ROOTS = {"sqrt", "_sym_sqrt", "sym_sqrt"}


def number(builder, function, args, name):
    """Returns the value of function(*args), or None if the function is not arithmetic."""
    types = {str(a.type) for a in args}
    word = getattr(function, "__name__", str(function))

    def emit(op, operands):
        return builder.node(op, operands, name=name)

    if not types or types - {"int", "float", "bool", "Scalar"}:
        return None
    if function in BOOLS and types == {"bool"}:
        return emit(BOOLS[function], args)
    if word in CASTS:
        kind, op = CASTS[word]
        return args[0] if types == {kind} else emit(op, args)
    if word in ROOTS:
        return emit("aten::sqrt.int" if types == {"int"} else "aten::sqrt.float", args)
    known = next((ops for f, ops in NUMBERS.items() if f is function), None)
    if known is None:
        return None
    ints = types <= {"int", "bool"}
    op = known[0 if ints else 1]
    if op is None:
        return args[0]
    if ints:
        args = [emit("aten::Int.bool", [a]) if str(a.type) == "bool" else a for a in args]
    else:
        args = [a if str(a.type) == "float" else emit("aten::Float.Scalar", [a]) for a in args]
    return emit(op, args)
