"""Folds checks that types decide: isinstance, `is None`, and the layout of a tensor, which is always strided.

A function with a union or an optional checks its argument. After inlining the type is known, and the branches for other types are
dead.
"""

from . import graphs

# Kinds of types whose values have no other type.
_CLOSED = {"NoneType", "TensorType", "IntType", "FloatType", "BoolType", "ComplexType", "StringType", "DeviceObjType", "ListType",
           "DictType", "TupleType", "EnumType", "ClassType"}


def fold_type_checks(graph):
    """Replaces checks by constants if types decide them."""
    changed = False
    for node in graph.findAllNodes("prim::unchecked_cast"):
        if graphs.has_uses(node.output()) and node.input().type().isSubtypeOf(node.output().type()):  # the cast is to a wider type
            node.output().replaceAllUsesWith(node.input())
            changed = True
    for node in (node for kind in _CHECKS for node in graph.findAllNodes(kind)):
        known = _constant(node) if graphs.has_uses(node.output()) else None
        if known is None:
            continue
        with graphs.before(graph, node):
            node.output().replaceAllUsesWith(graph.insertConstant(known))
        changed = True
    return changed


_CHECKS = ("prim::layout", "prim::is_sparse", "prim::is_sparse_csr", "prim::isinstance", "aten::__is__", "aten::__isnot__")


def _constant(node):
    kind = node.kind()
    if kind == "prim::layout":
        return 0  # torch.strided
    if kind in ("prim::is_sparse", "prim::is_sparse_csr"):
        return False
    if kind == "prim::isinstance":
        return _is_instance(node.input().type(), node.tys("types"))
    same = _are_none(node.inputsAt(0).type(), node.inputsAt(1).type())
    return None if same is None else same == (kind == "aten::__is__")


def _is_open(type_):
    """Returns whether values of this type may have several types."""
    return type_.kind() not in _CLOSED


def _is_instance(type_, types):
    """Returns whether all values of the type are of one of these types, or None if the type does not determine it."""
    is_open = _is_open(type_)
    for other in types:
        if type_.isSubtypeOf(other):
            return True
        any_of_a_kind = other.kind() in ("AnyListType", "AnyTupleType")
        is_open = is_open or other.kind() == type_.kind() or (_is_open(other) and not any_of_a_kind)
    return None if is_open else False


def _are_none(a, b):
    """Returns whether both values are None, or None if the types do not determine it."""
    is_none = [type_.kind() == "NoneType" for type_ in (a, b)]
    if all(is_none):
        return True
    if (is_none[0] and not _is_open(b)) or (is_none[1] and not _is_open(a)):
        return False
    return None
