"""Which sizes may change: export()'s dynamic_shapes, in the forms of torch.export."""

from torch.export import Dim

_FIXED = (None, getattr(Dim, "STATIC", None))


def dimensions(shapes, names):
    """{input: [dimension, ...]} of {input: {dimension: name}}, or by place; an input's may be a sequence, too.

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
    return {name: dims for name, dims in out.items() if dims}


def _of_input(name, sizes):
    if isinstance(sizes, (tuple, list)):
        sizes = dict(enumerate(sizes))
    if sizes is None:
        sizes = {}
    if not isinstance(sizes, dict) or not all(isinstance(d, int) for d in sizes):
        raise ValueError(f"dynamic_shapes: those of the input {name!r} are {{dimension: name}}, of a tensor")
    return [d for d, size in sizes.items() if size not in _FIXED and not isinstance(size, int)]
