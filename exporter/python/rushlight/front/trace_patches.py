"""Replacements for parts of PyTorch that torch.jit.trace would record as one opaque call, or refuse. `patches.py` lists them."""

import builtins
import collections
import contextlib
import sys
import threading
import types

import torch
from torch.autograd import function

from ..base import core
from ..base.errors import unsupported
from ..base.user_frame import user_frame
from .patch_attribute import patched_attribute


class _Context(function.FunctionCtx):
    """The context that forward gets. No gradients are computed afterwards."""

    def __init__(self, n):
        self.needs_input_grad = (False,) * n

    @property
    def saved_tensors(self):
        return getattr(self, "to_save", ())


def _apply(cls, *args):
    """Function.apply without a node in the autograd graph."""
    if cls.setup_context is not function._SingleLevelFunction.setup_context:
        return cls.forward(*args)
    return cls.forward(_Context(len(args)), *args)


@contextlib.contextmanager
def traced_autograd_functions(model):
    """Function.apply calls forward directly. If Function.apply is Python code, a reference to it that a module kept does the same."""
    direct = isinstance(vars(function.Function)["apply"], types.ClassMethodDescriptorType)
    owner = function.Function if direct else function._SingleLevelFunction  # the Python code calls apply of its base class
    own, thread = vars(owner).get("apply"), threading.get_ident()

    def apply_(cls, *args, **kwargs):
        if threading.get_ident() == thread:
            return _apply(cls, *args)
        return (own.__get__(None, cls) if own else super(owner, cls).apply)(*args, **kwargs)

    with patched_attribute(owner, "apply", classmethod(apply_)):
        yield


@contextlib.contextmanager
def traced_data(model):
    """x.data is x.detach(), which the tracer records."""
    before, thread = torch._C.TensorBase.data, threading.get_ident()

    def data(tensor):
        return tensor.detach() if threading.get_ident() == thread else before.__get__(tensor)

    with patched_attribute(torch.Tensor, "data", property(data, before.__set__, before.__delete__)):
        yield


def _round(number, digits=None):
    """Python's round(). It rounds halves to the even neighbour, as torch.round does."""
    return number.round().long() if digits is None else number.round(decimals=digits)


# Methods that numbers have and tensors lack. NumPy calls astype: np.ceil(np.log(n)).
_NUMBER_METHODS = {"__round__": _round, "is_integer": lambda number: float(number).is_integer(),
                   "bit_length": lambda number: int(number).bit_length(),
                   "astype": lambda number, dtype: number.numpy().astype(dtype)}


@contextlib.contextmanager
def number_methods(model):
    """Sizes are tensors while a model is traced. They get the methods that numbers have, as in round(x.shape[0] / 2)."""
    with contextlib.ExitStack() as stack:
        for name, method in _NUMBER_METHODS.items():
            if not hasattr(torch.Tensor, name):
                stack.enter_context(patched_attribute(torch.Tensor, name, method))
        yield


@contextlib.contextmanager
def traced_len(model):
    """len(x) of a tensor is x.shape[0], which a trace keeps dynamic. Yields a list that is empty until the model calls len(x)."""
    before, calls = builtins.len, []

    def len_(value):
        if not isinstance(value, torch.Tensor) or not torch._C._get_tracing_state() or value.dim() == 0:
            return before(value)
        calls.append(1)
        return value.shape[0]

    with patched_attribute(builtins, "len", len_):
        yield calls


def _vectorized_mask(mask_function, bh_indices=True):
    """transformers.masking_utils._vmap_for_bhqkv: the mask function gets all indices at once, without vmap."""
    def mask(*indices):
        sizes = [index.shape[0] for index in indices if index is not None]
        spread = [index if index is None else index.view([-1] + [1] * (3 - d)) for d, index in enumerate(indices)]
        return mask_function(*spread).expand(sizes)

    return mask


@contextlib.contextmanager
def traced_transformers_masks(model):
    """Attention masks of transformers keep their sizes dynamic. vmap would fix the example's."""
    module = sys.modules.get("transformers.masking_utils")
    known = hasattr(module, "_vmap_for_bhqkv")
    with patched_attribute(module, "_vmap_for_bhqkv", _vectorized_mask) if known else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def without_exported_methods(model):
    """torch.jit.trace does not compile methods that are marked with torch.jit.export."""
    with patched_attribute(torch._jit_internal, "module_has_exports", lambda module: False):
        yield


@contextlib.contextmanager
def without_backward_hooks(model):
    """Modules have no gradient hooks, with which torch.jit.trace refuses them."""
    hooked = [(m, m._backward_hooks) for m in _modules_of(model) if m._backward_hooks]
    try:
        for m, _ in hooked:
            m._backward_hooks = collections.OrderedDict()
        yield
    finally:
        for m, hooks in hooked:
            m._backward_hooks = hooks


@contextlib.contextmanager
def one_name_per_tensor(model):
    """Further names of a module's parameter or buffer are plain attributes, since a trace has one name for each tensor."""
    aliases = [(m, owner, name, dict(owner)) for m in _modules_of(model) for owner, name in _further_names(m)]
    try:
        for m, owner, name, _ in aliases:
            vars(m)[name] = owner.pop(name)
        yield
    finally:
        for m, owner, name, before in reversed(aliases):
            now = {**owner, **({name: vars(m).pop(name)} if name in vars(m) else {})}
            owner.clear()
            owner.update({n: now[n] for n in before if n in now}, **{n: t for n, t in now.items() if n not in before})


def _modules_of(model):
    return list(model.modules()) if isinstance(model, torch.nn.Module) else []


def _further_names(module):
    """Returns (dict of parameters or of buffers, name) of each tensor that the module has by another name, too."""
    seen = set()
    for owner in module._parameters, module._buffers:
        for name, tensor in owner.items():
            if tensor is not None and id(tensor) in seen:
                yield owner, name
            seen.add(id(tensor))


@contextlib.contextmanager
def untraced():
    """The tracer records nothing meanwhile."""
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


@contextlib.contextmanager
def traced_gradient_sizes(model):
    """torch.autograd.grad in forward compares sizes as numbers. They are tensors while a model is traced."""
    from torch.fx.experimental import symbolic_shapes

    before = symbolic_shapes.sym_eq

    def sym_eq(x, y):
        if not torch._C._get_tracing_state() or not isinstance(x, tuple) or not isinstance(y, tuple):
            return before(x, y)
        with untraced():
            return before(tuple(map(int, x)), tuple(map(int, y)))

    with patched_attribute(symbolic_shapes, "sym_eq", sym_eq):
        yield


@contextlib.contextmanager
def refused_autocast(model):
    """A region of autocast that computes in half precision is refused. A trace would record only its casts."""
    before = torch.autocast.__enter__

    def refuse(dtype, line=""):
        raise unsupported(f"{line}cannot export autocast on cpu to {dtype}, because its results have half the precision: "
                          "remove it, or disable it by a flag while the model is exported")

    def enter(region):
        if region._enabled and region.device == "cpu":
            frame = user_frame()
            refuse(region.fast_dtype, f"{core.stored_path(frame.filename)}:{frame.lineno}: " if frame else "")
        return before(region)

    if torch.is_autocast_enabled("cpu"):
        refuse(torch.get_autocast_dtype("cpu"))
    with patched_attribute(torch.autocast, "__enter__", enter):
        yield


@contextlib.contextmanager
def called_compiled_functions(model):
    """A function that torch.compile made calls the original function. torch.jit.trace would refuse it."""
    with patched_attribute(torch.fx._symbolic_trace, "_is_fx_tracing_flag", True), \
            torch._dynamo.config.patch(error_on_nested_fx_trace=False):
        yield


@contextlib.contextmanager
def uncompiled(model):
    """Modules that torch.compile or Module.compile() wrapped run as they were before."""
    modules = _modules_of(model)
    wrapped = [(m._modules, name, child) for m in modules for name, child in m._modules.items() if hasattr(child, "_orig_mod")]
    called = [(m, m._compiled_call_impl) for m in modules if m._compiled_call_impl is not None]
    try:
        for owner, name, child in wrapped:
            owner[name] = child._orig_mod
        for m, _ in called:
            m._compiled_call_impl = None
        with torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else contextlib.nullcontext():
            yield
    finally:
        for owner, name, child in wrapped:
            owner[name] = child
        for m, call in called:
            m._compiled_call_impl = call
