"""Constraints on sizes: export()'s dynamic_shapes, in the forms that torch.export takes."""

import torch
from torch.export import Dim

from ..exported_program.guards import limit

_UNSAID = (None, getattr(Dim, "STATIC", None))


def constraints(shapes, names, examples=()):
    """{input: [constraint, ...]} of {input: {dimension: size}}, or by place; an input's may be a sequence, too. A constraint is
    (dimension, name or "", least, most or None, whether another size is worth a try, None, None), as _C takes them. Of an input
    whose example is a list, tuple or dict, sizes come in the same nesting, and the last but one says which of its tensors they are
    of. The last says of a multiple, 2 * Dim("h"), of which size and how often, and that the program does not check it.

    Raises:
        ValueError: it is none of these, or there are more than `names`
    """
    if isinstance(shapes, (tuple, list)):
        if len(shapes) > len(names):
            known = ", ".join(names) or "not known here: give dynamic_shapes by name"
            given = "1 input is" if len(shapes) == 1 else f"{len(shapes)} inputs are"
            raise ValueError(f"dynamic_shapes: {given} given; the model's are {known}")
        shapes = dict(zip(names, shapes))
    if not isinstance(shapes, dict):
        raise ValueError("dynamic_shapes are {input: {dimension: name}}, or a tuple with one item for each input")
    given = dict(zip(names, examples))
    out = {name: _of_input(name, sizes, given.get(name)) for name, sizes in shapes.items()}
    return {name: found for name, found in out.items() if found}


def _of_input(name, sizes, example):
    if not isinstance(example, (list, tuple, dict)):
        return _of_tensor(name, sizes, None)
    return [constraint for leaf, (path, inner) in enumerate(_leaves(name, sizes, example)) for constraint in _of_tensor(path, inner, leaf)]


def _leaves(name, sizes, example):
    """(path, sizes) of each tensor of an example, in order."""
    if isinstance(example, torch.Tensor):
        yield name, sizes
    elif isinstance(example, dict):
        if sizes is not None and (not isinstance(sizes, dict) or not set(sizes) <= set(example)):
            raise ValueError(f"dynamic_shapes: the input {name!r} is a dict of {', '.join(map(repr, example))}: give {{key: sizes}}")
        for key, value in example.items():
            yield from _leaves(f"{name}[{key!r}]", (sizes or {}).get(key), value)
    elif isinstance(example, (list, tuple)):
        if sizes is not None and (not isinstance(sizes, (list, tuple)) or len(sizes) != len(example)):
            raise ValueError(f"dynamic_shapes: the input {name!r} is a {type(example).__name__} of {len(example)}: give as many sizes")
        for i, value in enumerate(example):
            yield from _leaves(f"{name}[{i}]", None if sizes is None else sizes[i], value)


def _of_tensor(name, sizes, leaf):
    if isinstance(sizes, (tuple, list)):
        sizes = dict(enumerate(sizes))
    if sizes is None:
        sizes = {}
    if not isinstance(sizes, dict) or not all(isinstance(d, int) for d in sizes):
        raise ValueError(f"dynamic_shapes: those of the input {name!r} are {{dimension: name}}, of a tensor")
    return [(*_constraint(name, d, size), leaf, _multiple(name, size)) for d, size in sizes.items() if size not in _UNSAID]


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
    """(the name of a size, how many times that, False) of a derived one; None of others."""
    if not hasattr(size, "root"):
        return None
    added, factor = int(size.fn(0)), int(size.fn(1)) - int(size.fn(0))
    if added or factor < 1 or int(size.fn(3)) != 3 * factor:
        raise ValueError(f"dynamic_shapes: {size.__name__} of the input {name!r} follows from another size, and is no multiple of it: "
                         "leave it out, and the size stays as open as the program leaves it, or give torch.export.export(model, ...), "
                         "which takes such sizes")
    return size.root.__name__, factor, False
