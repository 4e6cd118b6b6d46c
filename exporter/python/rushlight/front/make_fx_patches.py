"""Replacements in PyTorch that concern gradients: while a model is traced, and while make_fx captures it."""

import contextlib

import torch
from torch.fx.experimental import proxy_tensor

from .patch_attribute import patched_attribute


class GradientsTaken(Exception):
    """The model computes gradients while it is traced."""


@contextlib.contextmanager
def refused_gradients(model):
    """torch.autograd.grad and backward raise GradientsTaken."""
    def make_grads(*args, **kwargs):
        raise GradientsTaken()

    with patched_attribute(torch.autograd, "_make_grads", make_grads):  # both call it first
        yield


@contextlib.contextmanager
def stack_traces(model):
    """make_fx records the Python line of each node."""
    with patched_attribute(proxy_tensor.PythonKeyTracer, "record_stack_traces", True):
        yield


@contextlib.contextmanager
def without_python_margin_loss(model):
    """make_fx takes PyTorch's compiled multilabel_margin_loss_forward."""
    operator, key = torch.ops.aten.multilabel_margin_loss_forward.default, torch._C.DispatchKey.Autograd
    kernel = operator.py_kernels.pop(key, None)
    operator._dispatch_cache.clear()
    try:
        yield
    finally:
        if kernel is not None:
            operator.py_kernels[key] = kernel
        operator._dispatch_cache.clear()
