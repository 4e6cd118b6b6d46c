"""Constraints on sizes from the argument dynamic_shapes of export(), in the forms that torch.export takes."""

import torch
from torch.export import Dim

from ..exported_program.guards import limit

_UNCONSTRAINED = (None, getattr(Dim, "STATIC", None))


def constraints(shapes, names, examples=()):
    """Converts dynamic_shapes to constraints, as core.export_graph takes them.

    Args:
        shapes: {input: {dimension: size}}, or a tuple with one item for each input; sizes may also be a sequence
        names: names of the inputs
        examples: their values. An input that is a list, tuple or dict has sizes in the same nesting

    Returns:
        {input: [constraint, ...]}. A constraint is (dimension, name or "", minimum, maximum or None, whether to try other sizes, index of
        the tensor inside the input or None, (name, factor, whether the program checks it) of a multiple such as 2 * Dim("h") or None)

    Raises:
        ValueError: `shapes` has another form, or more items than `names`
    """
    if isinstance(shapes, (tuple, list)):
        if len(shapes) > len(names):
            known = ", ".join(names) or "unknown: use a dict by name"
            raise ValueError(f"dynamic_shapes must have at most one item for each input, got {len(shapes)}; the inputs of the model "
                             f"are {known}")
        shapes = dict(zip(names, shapes))
    if not isinstance(shapes, dict):
        raise ValueError("dynamic_shapes must be {input: {dimension: name}}, or a tuple with one item for each input, "
                         f"got {type(shapes).__name__}")
    given = dict(zip(names, examples))
    out = {name: _of_input(name, sizes, given.get(name)) for name, sizes in shapes.items()}
    return {name: found for name, found in out.items() if found}


def _of_input(name, sizes, example):
    if not isinstance(example, (list, tuple, dict)):
        return _of_tensor(name, sizes, None)
    return [constraint for leaf, (path, inner) in enumerate(_leaves(name, sizes, example)) for constraint in _of_tensor(path, inner, leaf)]


def _leaves(name, sizes, example):
    """Returns (path, sizes) of each tensor inside an example, in order."""
    if isinstance(example, torch.Tensor):
        yield name, sizes
    elif isinstance(example, dict):
        if sizes is not None and (not isinstance(sizes, dict) or not set(sizes) <= set(example)):
            raise ValueError(f"dynamic_shapes of the input {name!r} must be {{key: sizes}} for its keys "
                             f"{', '.join(map(repr, example))}, got {sizes!r}")
        for key, value in example.items():
            yield from _leaves(f"{name}[{key!r}]", (sizes or {}).get(key), value)
    elif isinstance(example, (list, tuple)):
        if sizes is not None and (not isinstance(sizes, (list, tuple)) or len(sizes) != len(example)):
            raise ValueError(f"dynamic_shapes of the input {name!r} must have {len(example)} items, one for each of its "
                             f"{type(example).__name__}, got {sizes!r}")
        for i, value in enumerate(example):
            yield from _leaves(f"{name}[{i}]", None if sizes is None else sizes[i], value)


def _of_tensor(name, sizes, leaf):
    if isinstance(sizes, (tuple, list)):
        sizes = dict(enumerate(sizes))
    if sizes is None:
        sizes = {}
    if not isinstance(sizes, dict) or not all(isinstance(d, int) for d in sizes):
        raise ValueError(f"dynamic_shapes of the input {name!r} must be {{dimension: name}}, with a number for each dimension, "
                         f"got {sizes!r}")
    return [(*_constraint(name, d, size), leaf, _multiple(name, size)) for d, size in sizes.items() if size not in _UNCONSTRAINED]


def _constraint(name, d, size):
    if isinstance(size, int):
        return d, "", size, size, False
    if isinstance(size, str):
        return d, size, 0, None, True
    if multiple := _multiple(name, size):
        most = limit(getattr(size.root, "max", None))
        return d, size.__name__, (getattr(size.root, "min", None) or 0) * multiple[1], most and limit(most * multiple[1]), True
    return d, getattr(size, "__name__", ""), getattr(size, "min", None) or 0, limit(getattr(size, "max", None)), True


def _multiple(name, size):
    """Returns (name of the size, factor, False) of a multiple; None for other sizes."""
    if not hasattr(size, "root"):
        return None
    added, factor = int(size.fn(0)), int(size.fn(1)) - int(size.fn(0))
    if added or factor < 1 or int(size.fn(3)) != 3 * factor:
        raise ValueError(f"a derived size in dynamic_shapes must be a multiple of another one, got {size.__name__} of the input {name!r}: "
                         "leave it out, so that it stays as dynamic as the program leaves it, or export torch.export.export(model, ...), "
                         "which accepts such sizes")
    return size.root.__name__, factor, False
