"""While a model is traced: what would be one opaque call in the trace is what it is made of, or refused by its name."""

import contextlib
import math
import os
import sys
import traceback
import types

import torch
from torch.autograd import function

from . import _C
from .errors import unsupported


class _Context(function.FunctionCtx):
    """What forward is given, where nobody asks for gradients afterwards."""

    def __init__(self, n):
        self.needs_input_grad = (False,) * n

    @property
    def saved_tensors(self):
        return getattr(self, "to_save", ())


def apply(cls, *args):
    """Function.apply without a node in the graph of gradients."""
    if cls.setup_context is not function._SingleLevelFunction.setup_context:
        return cls.forward(*args)
    return cls.forward(_Context(len(args)), *args)


@contextlib.contextmanager
def functions_opened():
    """torch.autograd.Function.apply runs forward in sight of the tracer; in versions whose Function.apply is Python also where
    a module kept it before."""
    direct = isinstance(vars(function.Function)["apply"], types.ClassMethodDescriptorType)  # else it calls its base's
    owner = function.Function if direct else function._SingleLevelFunction
    before = vars(owner).get("apply")
    owner.apply = classmethod(apply)
    try:
        yield
    finally:
        if before is None:
            del owner.apply
        else:
            owner.apply = before


@contextlib.contextmanager
def attention_opened():
    """flex_attention, which compiles itself, in its operators, all scores at once."""
    module = sys.modules.get("torch.nn.attention.flex_attention")
    if module is None:  # nobody has imported it
        yield
        return
    everything = module._create_empty_block_mask(torch.empty(0), torch.empty(0))  # by vmap, which is not traced
    inner = _flex_attention_with_maxima if hasattr(module, "AuxOutput") else _flex_attention  # later versions have them
    patches = [(module, "flex_attention_hop", inner), (module, "_create_empty_block_mask", lambda query, key: everything),
               (torch, "compile", lambda function, **options: function)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    try:
        for owner, name, value in patches:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _flex_attention_with_maxima(query, key, value, score_mod, block_mask, scale, kernel_options):
    """torch._higher_order_ops.flex_attention.math_attention. The functions of one score and its four indices are given all of
    them at once: they are made of pointwise operators and indexing."""
    grouped = query.unflatten(1, (key.size(1), -1))  # [batch, heads of key, heads for each, length, width]
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = ((grouped @ key.unsqueeze(2).transpose(-2, -1)).flatten(1, 2) * scale).to(wide)
    places = [torch.arange(scores.size(d)).view([-1] + [1] * (3 - d)) for d in range(4)]
    scores = torch.where(block_mask[-1](*places), score_mod(scores, *places), -math.inf)
    hidden = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.where(hidden, 0.0, torch.softmax(scores, -1)).to(query.dtype)
    out = weights.unflatten(1, (key.size(1), -1)) @ value.unsqueeze(2)
    return out.flatten(1, 2), torch.logsumexp(scores, -1) / math.log(2), torch.amax(scores, -1) / math.log(2)


def _flex_attention(*args):
    return _flex_attention_with_maxima(*args)[:2]


# A tensor of the same dtype as the bool promotes as it does; what takes no tensor has a dtype of its own.
_METHODS = ("fill_", "masked_fill", "masked_fill_", "index_fill", "index_fill_", "where", "eq", "ne", "__eq__", "__ne__")
_FUNCTIONS = ("where", "masked_fill", "index_fill", "eq", "ne")
_TAKE_TENSORS = (*((torch.Tensor, name) for name in _METHODS), *((torch, name) for name in _FUNCTIONS))
_TAKE_NUMBERS = ((torch, "full"), (torch, "full_like"), (torch.Tensor, "new_full"))


@contextlib.contextmanager
def bools_opened():
    """A bool where an operator takes a number, torch.full(sizes, True) or x.masked_fill(mask, True), which PyTorch's tracer cannot
    write down: a tensor where there may be one, else 0 or 1."""
    before = [(owner, name, getattr(owner, name), name in vars(owner)) for owner, name in _TAKE_TENSORS + _TAKE_NUMBERS]
    try:
        for owner, name, call, _ in before:
            setattr(owner, name, _without_bools(call, (owner, name) in _TAKE_TENSORS, name == "full"))
        yield
    finally:
        for owner, name, call, own in before:
            if own:
                setattr(owner, name, call)
            else:
                delattr(owner, name)


def _without_bools(call, as_tensor, makes_bools):
    def instead(value):
        if not isinstance(value, bool):
            return value
        return torch.full((), int(value), dtype=torch.bool) if as_tensor else int(value)

    def called(*args, **named):
        given = (*args[1:], named.get("fill_value"))
        if makes_bools and named.get("dtype") is None and any(isinstance(value, bool) for value in given):
            named["dtype"] = torch.bool
        for key in {"fill_value", "value", "other"} & named.keys():
            named[key] = instead(named[key])
        return call(*map(instead, args), **named)

    return called


@contextlib.contextmanager
def autocast_refused():
    """A region of autocast that computes in half precision, which a trace would keep as casts without a name."""
    enter = torch.autocast.__enter__

    def refused(region):
        if region._enabled and region.device == "cpu":
            raise unsupported(f"{_line()}autocast on cpu to {region.fast_dtype}, whose results have half the precision, cannot be "
                              "exported: leave it out, or enable it by a flag that is off while the model is exported")
        return enter(region)

    torch.autocast.__enter__ = refused
    try:
        yield
    finally:
        torch.autocast.__enter__ = enter


def _line():
    """"model.py:7: " of the first frame outside torch and this package."""
    inside = tuple(os.path.dirname(f) + os.sep for f in (torch.__file__, __file__))
    frame = next((f for f in reversed(traceback.extract_stack()) if not f.filename.startswith(inside)), None)
    return f"{_C.stored_path(frame.filename)}:{frame.lineno}: " if frame else ""


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
