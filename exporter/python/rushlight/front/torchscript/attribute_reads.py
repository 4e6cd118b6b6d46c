"""Finds large tensors of a module that a graph only reads, so that nothing needs a copy of them."""

import torch

from . import copies, graphs

_LARGE = 1 << 20  # bytes
_FLOAT32 = 6
_HALVES = torch.float16, torch.bfloat16
_BYTES = torch.int8, torch.uint8
# Operators that write none of their arguments. The results of views share memory with them.
_READERS = {"aten::linear", "aten::embedding", "aten::matmul", "aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::einsum",
            "aten::layer_norm", "aten::_convolution", "aten::conv1d", "aten::conv2d", "aten::mul", "aten::add", "aten::size", "aten::dim",
            "prim::dtype", "aten::index_select"}
_VIEWS = {"aten::to", "aten::t", "aten::transpose", "aten::detach", "aten::select", "aten::slice", "aten::unsqueeze"}


def path_of(node, module):
    """Returns the names on the way from the value `module` to what a prim::GetAttr reads, or None if it reads of another value,
    such as an object that a loop carries."""
    names = []
    while node.kind() == "prim::GetAttr":
        names.append(node.s("name"))
        value = node.inputsAt(0)
        node = value.node()
    return names[::-1] if value.unique() == module.unique() else None


def _tensors(module, graph):
    """Returns (prim::GetAttr, path, tensor) for all reads of tensors in submodules."""
    modules, own = dict(copies.named_modules(module)), next(graph.inputs())
    for node in graphs.all_nodes(graph.block()):
        path = path_of(node, own) if node.kind() == "prim::GetAttr" and node.output().type().kind() == "TensorType" else None
        owner = modules.get(".".join(path[:-1])) if path else None
        tensor = owner.getattr(path[-1]) if owner is not None else None
        if isinstance(tensor, torch.Tensor):
            yield node, ".".join(path), tensor


def _is_cast(node):
    return node.kind() == "aten::to" and node.inputsSize() > 1 and graphs.constant_of(node.inputsAt(1)) == _FLOAT32


def narrow_matrices(module, graph):
    """Returns the paths of matrices of bytes, and of those in half precision that the graph converts to float32. libtorch would fold their
    conversion to wider numbers."""
    return [path for node, path, tensor in _tensors(module, graph) if tensor.dim() > 1 and (
        tensor.dtype in _BYTES or (tensor.dtype in _HALVES and any(_is_cast(use.user) for use in node.output().uses())))]


def only_read(module, graph):
    """Returns {id of a tensor: its prim::GetAttr nodes} of large tensors that the graph only reads. One that shares memory with
    another tensor is left out."""
    found, sharers = {}, {}
    for _, tensor in copies.named_tensors(module):
        if copies.is_plain(tensor):
            sharers.setdefault(tensor.untyped_storage()._cdata, set()).add(id(tensor))
    for node, _, tensor in _tensors(module, graph):
        if copies.is_plain(tensor) and tensor.nbytes >= _LARGE and len(sharers[tensor.untyped_storage()._cdata]) == 1:
            found.setdefault(id(tensor), []).append(node)
    return {key: nodes for key, nodes in found.items() if all(_is_read(node.output()) for node in nodes)}


def _is_read(value):
    return all(use.user.kind() in _READERS or (use.user.kind() in _VIEWS and use.offset == 0 and _is_read(use.user.output()))
               for use in value.uses())
