"""Copies of modules, in which attributes that are one module, or tensors that share memory, still are one and share it."""

import torch

from ...base.values import has_memory
from . import graphs, places
from .types import module_attributes


def named_modules(module, path=""):
    """Returns (path, module) of a module and all its submodules. One that has two paths comes twice."""
    yield path, module
    for name, child in torch._C.ModuleDict(module).items():
        yield from named_modules(child, f"{path}.{name}" if path else name)


def named_tensors(module):
    """Returns (path, tensor) of the parameters and tensors in a module and its submodules, in the order of their attributes."""
    for path, inner in named_modules(module):
        for name, tensor in _own_tensors(inner).items():
            if tensor is not None:
                yield f"{path}.{name}" if path else name, tensor


def _own_tensors(module):
    known = {**dict(torch._C.ParameterDict(module).items()), **dict(torch._C.BufferDict(module).items())}
    others = (name for name, type_ in module_attributes(module).items() if type_.kind() in _TENSORS and name not in known)
    values = {name: module.getattr(name) for name in sorted(others)}
    return known | {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}


_TENSORS = ("TensorType", "OptionalType")


def addresses(module):
    """Returns {path: text that identifies the module there} of a module and all its submodules."""
    paths = []

    def build(graph, given):
        texts = []

        def visit(path, inner, value):
            paths.append(path)
            texts.append(graphs.call(graph, "aten::str", [value], torch._C.StringType.get()))
            for name, child in torch._C.ModuleDict(inner).items():
                visit(f"{path}.{name}" if path else name, child, graphs.get_attr(graph, value, name, child._type()))

        visit("", module, given(module))
        return graphs.call(graph, "prim::ListConstruct", texts, torch._C.ListType.ofStrings())

    return dict(zip(paths, places.run(build)))


def shallow(module, train):
    """Returns a copy with the same attributes, but with its own modules, in evaluation mode unless `train`."""
    known = addresses(module)
    created = {}

    def copied(path, inner):
        if known[path] in created:
            return created[known[path]]
        out = created[known[path]] = inner.__copy__()
        if not train and out.hasattr("training"):
            out.setattr("training", False)
        for name, child in torch._C.ModuleDict(inner).items():
            out.setattr(name, copied(f"{path}.{name}" if path else name, child))
        return out

    return copied("", module)


def deep(module, in_double=False, kept=()):
    """Returns a copy with all of its state, in float64 if asked for. Tensors that share memory share memory in the copy, too.
    Tensors whose id is in `kept` are not copied, and keep their dtype."""
    out = _deep_without(module, kept)
    storages = {}
    for path, tensor in named_tensors(module):
        if is_plain(tensor) and id(tensor) not in kept:
            storages.setdefault(tensor.untyped_storage()._cdata, {})[path] = tensor
    owners = dict(named_modules(out))
    for tensors in storages.values():
        if len({id(t) for t in tensors.values()}) > 1 or in_double:
            for path, copy in _copies(tensors, in_double).items():
                owner, _, name = path.rpartition(".")
                owners[owner].setattr(name, copy)
    if in_double:
        _widen_others(out)
    return out


def _deep_without(module, kept):
    if not kept:
        return module.__deepcopy__({})
    emptied = shallow(module, train=True)
    places = [(*path.rpartition(".")[::2], tensor) for path, tensor in named_tensors(module) if id(tensor) in kept]

    def put(owners, value):
        for path, name, tensor in places:
            owners[path].setattr(name, value(tensor))

    put(dict(named_modules(emptied)), lambda tensor: torch.empty(0, dtype=tensor.dtype))
    out = emptied.__deepcopy__({})
    put(dict(named_modules(out)), lambda tensor: tensor)
    return out


def is_plain(tensor):
    return tensor.layout == torch.strided and not tensor.is_quantized and has_memory(tensor)


def wide(dtype):
    """Returns float64 for a floating-point dtype, complex128 for a complex one."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def _copies(tensors, in_double):
    """Copies of tensors of one storage, by the same keys, in one storage."""
    first = next(iter(tensors.values()))
    dtype = first.dtype if in_double else torch.uint8
    if in_double and any(tensor.dtype != dtype for tensor in tensors.values()):
        raise ValueError("tensors of several dtypes share memory in it")
    whole = torch.empty(0, dtype=dtype).set_(first.untyped_storage())
    storage = whole.to(wide(dtype) if in_double else dtype, copy=True).untyped_storage()
    out = {}
    with torch.no_grad():
        for key, tensor in tensors.items():
            copy = torch.empty(0, dtype=wide(tensor.dtype) if in_double else tensor.dtype)
            copy.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
            out[key] = copy.requires_grad_(tensor.requires_grad)
    return out


def evaluate(module):
    """Sets a module and its submodules to evaluation mode."""
    for _, inner in named_modules(module):
        if inner.hasattr("training"):
            inner.setattr("training", False)


def of_values(value):
    """Returns a copy of a Python value. Tensors that share memory share it in the copy."""
    return _copied(value, False)


def in_double(value):
    """Returns the same in float64."""
    return _copied(value, True)


def _copied(value, in_double):
    tensors = {}
    _find(value, tensors)
    groups, copies = {}, {}
    for key, tensor in tensors.items():
        if is_plain(tensor):
            groups.setdefault(tensor.untyped_storage()._cdata, {})[key] = tensor
        elif not in_double:
            copies[key] = tensor.clone()
    for group in groups.values():
        copies.update(_copies(group, in_double))
    return _replaced(value, copies)


def has_tensors(value):
    return isinstance(value, torch.Tensor) or any(map(has_tensors, _items(value)))


def _find(value, tensors):
    if isinstance(value, torch.Tensor):
        tensors[id(value)] = value
    for item in _items(value):
        _find(item, tensors)


def _items(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _replaced(value, copies):
    if isinstance(value, torch.Tensor):
        return copies.get(id(value), value)
    if isinstance(value, dict):
        return {key: _replaced(item, copies) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [_replaced(item, copies) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return [_replaced(item, copies) for item in value] if isinstance(value, list) else value


def _widen_others(module):
    """Tensors in lists and other containers of attributes."""
    for _, inner in named_modules(module):
        for name, type_ in module_attributes(inner).items():
            if type_.kind() in ("ListType", "DictType", "TupleType", "OptionalType") and "Tensor" in type_.str():
                inner.setattr(name, in_double(inner.getattr(name)))
