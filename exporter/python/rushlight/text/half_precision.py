"""Models with weights in half precision, which compute in float32."""

import contextlib

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

HALVES = torch.float16, torch.bfloat16
# Operators whose arguments must have one dtype. The others convert halves themselves.
_PRODUCTS = {F.linear, F.bilinear, torch.addmm, torch.mm, torch.bmm, torch.baddbmm, torch.matmul, torch.einsum, torch.Tensor.matmul,
             torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm, torch.conv1d, torch.conv2d, F.layer_norm, torch.cat}


def _widened(value):
    return value.to(torch.float32) if isinstance(value, torch.Tensor) and value.dtype in HALVES else value


def _narrows(function, args, kwargs):
    """Returns whether a call converts a float32 tensor to half precision, as T5 does with what a layer of half precision takes."""
    if function is not torch.Tensor.to or args[0].dtype != torch.float32:
        return False
    wanted = [getattr(value, "dtype", value) for value in (*args[1:], *(kwargs or {}).values())]
    return any(value in HALVES for value in wanted if isinstance(value, torch.dtype))


class InFloat32(TorchFunctionMode):
    """Layers convert their weights, so that all activations are float32."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if _narrows(function, args, kwargs):
            return args[0]
        if function in _PRODUCTS:
            args, kwargs = pytree.tree_map(_widened, (args, kwargs or {}))
        out = function(*args, **(kwargs or {}))
        return _widened(out) if function is F.embedding else out


def computing(model):
    """Returns a context in which a model with weights in half precision computes in float32."""
    return InFloat32() if has_halves(model) else contextlib.nullcontext()


def has_halves(model):
    return any(t.dtype in HALVES for t in model.parameters())


@contextlib.contextmanager
def vectors_in_float32(model):
    """Meanwhile, parameters and buffers with fewer than two dimensions are float32: they are small, and operators are fused around them."""
    tensors = [t for t in (*model.parameters(), *model.buffers()) if t.dtype in HALVES and t.dim() < 2]
    before = [t.data for t in tensors]
    try:
        for tensor in tensors:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, data in zip(tensors, before):
            tensor.data = data
