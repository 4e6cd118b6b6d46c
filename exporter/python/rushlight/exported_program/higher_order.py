"""Higher-order operators, which take graphs as arguments."""

import torch
from torch.utils import _pytree as pytree


def is_higher_order(target):
    return isinstance(target, torch._ops.HigherOrderOperator)


# Operators that call their graph once for each row of a tensor.
SCANS = {"map", "map_impl", "scan"}


def name_of(target):
    """Returns the name of a higher-order operator."""
    return target.name() if callable(getattr(target, "name", None)) else str(target)


def scan_arguments(name, args):
    """Returns (body, carried, xs, dim, reverse, additional inputs) of an operator in SCANS.

    body(*carried, *rows, *additional) gives the next carried values, then its results, which are stacked in a new first dimension.
    map carries nothing.
    """
    if name == "scan":
        body, init, xs, *rest = args
        dim, reverse, more = (rest if len(rest) == 3 else (0, False, *rest))  # newer torch moves the dimension of xs to the front first
        return body, list(init), list(xs), dim, reverse, list(more)
    body, xs, *more = args
    more = more[0] if len(more) == 1 and isinstance(more[0], (list, tuple)) else more
    return body, [], list(xs), 0, False, list(more)


def scan(body, carried, xs, dim, reverse, more):
    """Runs an operator of SCANS. PyTorch's own code also runs the body on uninitialized memory, to learn its shapes."""
    rows, order = [], range(xs[0].shape[dim])
    for i in reversed(order) if reverse else order:
        out = pytree.tree_leaves(body(*carried, *(x.select(dim, i) for x in xs), *more))
        carried, row = out[:len(carried)], out[len(carried):]
        rows.append(row)
    if reverse:
        rows.reverse()
    return (*carried, *(torch.stack(column) for column in zip(*rows)))
