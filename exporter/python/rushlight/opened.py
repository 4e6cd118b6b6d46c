"""While a model is traced: what would be one opaque call in the trace is what it is made of."""

import contextlib

import torch
from torch.autograd import function


class _Context(function.FunctionCtx):
    """What forward is given, where nobody asks for gradients afterwards."""

    def __init__(self, n):
        self.needs_input_grad = (False,) * n

    @property
    def saved_tensors(self):
        return getattr(self, "to_save", ())


def _forward(cls, *args):
    """apply() without a node in the graph of gradients."""
    if cls.setup_context is not function._SingleLevelFunction.setup_context:
        return cls.forward(*args)
    return cls.forward(_Context(len(args)), *args)


@contextlib.contextmanager
def functions_opened():
    """torch.autograd.Function.apply runs forward in sight of the tracer, also where a module kept it before."""
    single = function._SingleLevelFunction
    single.apply = classmethod(_forward)  # Function.apply calls its base's
    try:
        yield
    finally:
        del single.apply


@contextlib.contextmanager
def compiled_opened(model):
    """What torch.compile or Module.compile() has wrapped inside of a module is called as it was before."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    wrapped = [(m._modules, name, child) for m in modules for name, child in m._modules.items() if hasattr(child, "_orig_mod")]
    called = [(m, m._compiled_call_impl) for m in modules if m._compiled_call_impl is not None]
    try:
        for owner, name, child in wrapped:
            owner[name] = child._orig_mod
        for m, _ in called:
            m._compiled_call_impl = None
        yield
    finally:
        for owner, name, child in wrapped:
            owner[name] = child
        for m, call in called:
            m._compiled_call_impl = call
