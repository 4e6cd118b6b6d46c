"""Higher-order operators, which take graphs as arguments."""

import torch
from torch.utils import _pytree as pytree


def is_higher_order(target):
    return isinstance(target, torch._ops.HigherOrderOperator)


# Higher-order operators that take one row after the other.
SCANS = {"map", "map_impl", "scan"}


def name_of(target):
    """The name of a higher-order operator."""
    return target.name() if callable(getattr(target, "name", None)) else str(target)


def scan_arguments(name, args):
    """(body, carried, xs, dim, reverse, additional inputs) of one of SCANS: body(*carried, *rows, *additional) gives
    what it carries on, then its results, which are stacked in front. map carries nothing."""
    if name == "scan":
        body, init, xs, *rest = args
        dim, reverse, more = (rest if len(rest) == 3 else (0, False, *rest))  # newer torch has turned xs before
        return body, list(init), list(xs), dim, reverse, list(more)
    body, xs, *more = args
    more = more[0] if len(more) == 1 and isinstance(more[0], (list, tuple)) else more
    return body, [], list(xs), 0, False, list(more)


def scan(body, carried, xs, dim, reverse, more):
    """What one of SCANS means. Torch's own code also runs the body for its shapes, on what the memory held."""
    rows, order = [], range(xs[0].shape[dim])
    for i in reversed(order) if reverse else order:
        out = pytree.tree_leaves(body(*carried, *(x.select(dim, i) for x in xs), *more))
        carried, row = out[:len(carried)], out[len(carried):]
        rows.append(row)
    if reverse:
        rows.reverse()
    return (*carried, *(torch.stack(column) for column in zip(*rows)))
