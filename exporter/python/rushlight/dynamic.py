"""What is promised of sizes: export()'s dynamic_shapes, in the forms of torch.export."""

from torch.export import Dim

_UNSAID = (None, getattr(Dim, "STATIC", None))


def promises(shapes, names):
    """{input: [promise, ...]} of {input: {dimension: size}}, or by place; an input's may be a sequence, too. A promise is
    (dimension, name or "", least, most or None, whether another size is worth a try), as _C takes them.

    Raises:
        ValueError: it is none of these, or there are more than `names`
    """
    if isinstance(shapes, (tuple, list)):
        if len(shapes) > len(names):
            known = ", ".join(names) or "not known here: give dynamic_shapes by name"
            raise ValueError(f"dynamic_shapes: {len(shapes)} inputs are given; the model's are {known}")
        shapes = dict(zip(names, shapes))
    if not isinstance(shapes, dict):
        raise ValueError("dynamic_shapes are {input: {dimension: name}}, or a tuple with one item for each input")
    out = {name: _of_input(name, sizes) for name, sizes in shapes.items()}
    return {name: promised for name, promised in out.items() if promised}


def limit(value):
    """A greatest size as promises have it; None where there is none."""
    return int(value) if getattr(value, "is_Integer", isinstance(value, int)) and abs(value) < 2**62 else None


def _of_input(name, sizes):
    if isinstance(sizes, (tuple, list)):
        sizes = dict(enumerate(sizes))
    if sizes is None:
        sizes = {}
    if not isinstance(sizes, dict) or not all(isinstance(d, int) for d in sizes):
        raise ValueError(f"dynamic_shapes: those of the input {name!r} are {{dimension: name}}, of a tensor")
    return [_promise(name, d, size) for d, size in sizes.items() if size not in _UNSAID]


def _promise(name, d, size):
    if isinstance(size, int):
        return d, "", size, size, False
    if isinstance(size, str):
        return d, size, 0, None, True
    if hasattr(size, "root"):
        raise ValueError(f"dynamic_shapes: {size.__name__} of the input {name!r} follows from another size; names and "
                         "ranges can be promised here, and torch.export.export takes such sizes")
    return d, getattr(size, "__name__", ""), getattr(size, "min", None) or 0, limit(getattr(size, "max", None)), True
