"""While a model is traced: what would be one opaque call in the trace is what it is made of, or refused by its name."""

import builtins
import collections
import contextlib
import math
import os
import sys
import traceback
import types
import warnings

import torch
from torch.autograd import function
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

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
def data_opened():
    """x.data is x.detach(), which the tracer sees: what is made of it, and what is written into it."""
    before = torch._C.TensorBase.data
    torch.Tensor.data = property(torch.Tensor.detach, before.__set__, before.__delete__)
    try:
        yield
    finally:
        del torch.Tensor.data


def _round(number, digits=None):
    """As Python's, halves to the even one; what stays a tensor the tracer sees."""
    return number.round().long() if digits is None else number.round(decimals=digits)


# What numbers have and tensors have not.
_OF_NUMBERS = {"__round__": _round, "is_integer": lambda number: float(number).is_integer(),
               "bit_length": lambda number: int(number).bit_length(),
               "astype": lambda number, dtype: number.numpy().astype(dtype)}  # np.ceil(np.log(n)) is one where n is


@contextlib.contextmanager
def numbers_opened():
    """round(x.shape[0] / 2), where sizes are tensors while a model is traced, which then do what numbers do."""
    added = {name: do for name, do in _OF_NUMBERS.items() if not hasattr(torch.Tensor, name)}
    for name, do in added.items():
        setattr(torch.Tensor, name, do)
    try:
        yield
    finally:
        for name in added:
            delattr(torch.Tensor, name)


class len_opened:
    """len(x) of a tensor is x.shape[0], which a trace keeps open. `asked`: whether there was one, which may have to be a number."""

    def __init__(self):
        self.asked = False

    def __enter__(self):
        self.before = builtins.len
        builtins.len = self._len

    def __exit__(self, *error):
        builtins.len = self.before

    def _len(self, value):
        if not isinstance(value, torch.Tensor) or not torch._C._get_tracing_state() or value.dim() == 0:
            return self.before(value)
        self.asked = True
        return value.shape[0]


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


def _masks(mask_function, bh_indices=True):
    """transformers.masking_utils._vmap_for_bhqkv. As of flex_attention, a function of one place is given all of them at once."""
    def masks(*places):
        sizes = [place.shape[0] for place in places if place is not None]
        spread = [place if place is None else place.view([-1] + [1] * (3 - d)) for d, place in enumerate(places)]
        return mask_function(*spread).expand(sizes)

    return masks


@contextlib.contextmanager
def masks_opened():
    """transformers' masks of attention, of which vmap would keep the example's sizes."""
    module = sys.modules.get("transformers.masking_utils")
    before = getattr(module, "_vmap_for_bhqkv", None)
    if before is None:
        yield
        return
    module._vmap_for_bhqkv = _masks
    try:
        yield
    finally:
        module._vmap_for_bhqkv = before


@contextlib.contextmanager
def modules_opened(model):
    """What makes torch.jit.trace refuse a module, or compile parts of it, although no trace shows it: methods that are marked
    torch.jit.export, hooks of gradients, and further names of a module's parameters or buffers, which are plain attributes then."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    hooked = [(m, m._backward_hooks) for m in modules if m._backward_hooks]
    again = [(m, owner, name, dict(owner)) for m in modules for owner, name in _further_names(m)]
    exports = torch._jit_internal.module_has_exports
    torch._jit_internal.module_has_exports = lambda module: False
    try:
        for m, _ in hooked:
            m._backward_hooks = collections.OrderedDict()
        for m, owner, name, _ in again:
            vars(m)[name] = owner.pop(name)
        yield
    finally:
        torch._jit_internal.module_has_exports = exports
        for m, hooks in hooked:
            m._backward_hooks = hooks
        for m, owner, name, before in reversed(again):
            now = {**owner, **({name: vars(m).pop(name)} if name in vars(m) else {})}
            owner.clear()
            owner.update({n: now[n] for n in before if n in now}, **{n: t for n, t in now.items() if n not in before})


def _further_names(module):
    """[(the dict of parameters or of buffers, name), ...] of tensors that the module has by another name, too."""
    seen = set()
    for owner in module._parameters, module._buffers:
        for name, tensor in owner.items():
            if tensor is not None and id(tensor) in seen:
                yield owner, name
            seen.add(id(tensor))


@contextlib.contextmanager
def _untraced():
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


@contextlib.contextmanager
def gradients_opened():
    """torch.autograd.grad in forward compares sizes, which are tensors while a model is traced."""
    from torch.fx.experimental import symbolic_shapes
    before = symbolic_shapes.sym_eq

    def sym_eq(x, y):
        if not torch._C._get_tracing_state() or not isinstance(x, tuple) or not isinstance(y, tuple):
            return before(x, y)
        with _untraced():
            return before(tuple(map(int, x)), tuple(map(int, y)))

    symbolic_shapes.sym_eq = sym_eq
    try:
        yield
    finally:
        symbolic_shapes.sym_eq = before


class constants_opened(TorchFunctionMode):
    """Tensors that want gradients and that the tracer does not know, as of a module that the model keeps in a list, or that a
    function has seen: they are constants."""

    def __init__(self):
        super().__init__()
        self.constants = {}  # by id: (the tensor, which lives on so that its id stays its own, itself without gradients)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args, kwargs = pytree.tree_map(self.held, (args, kwargs or {}))
        return function(*args, **kwargs)

    def held(self, value):
        state = torch._C._get_tracing_state()
        if not state or not isinstance(value, torch.Tensor) or not value.requires_grad:
            return value
        try:
            torch._C._get_value_trace(value)
            return value
        except RuntimeError:  # that a tensor which wants gradients cannot be a constant: tracing has stopped
            return self.constants.setdefault(id(value), (value, value.detach()))[1]
        finally:
            torch._C._set_tracing_state(state)


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


_OPERATORS = {"floordiv": "floor_divide", "truediv": "div", "mod": "remainder"}  # of Python, where PyTorch's name is another


def _schemas_of(function):
    """The overloads for tensors of the operator that a function of torch, or of Tensor, is named after."""
    name = getattr(function, "__name__", "")
    plain = name.strip("_")
    for known in (name, plain, plain[1:], _OPERATORS.get(plain, plain)):  # x.__radd__(y), x.__iadd__(y)
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{known}")
        if schemas := [s for s in schemas if any(str(r.type) == "Tensor" for r in s.returns)]:
            return schemas
    return []


class bools_opened(TorchFunctionMode):
    """A bool where an operator takes a number, torch.full(sizes, True) or mask == True, which PyTorch's tracer cannot write down:
    0 or 1, beside bools a tensor where there may be one, which promotes as the bool does."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args, named = list(args), dict(kwargs or {})
        places = [(args, i) for i, value in enumerate(args) if isinstance(value, bool)]
        places += [(named, key) for key, value in named.items() if isinstance(value, bool)]
        schemas = _schemas_of(function) if places else []
        beside_bools = any(isinstance(v, torch.Tensor) and v.dtype == torch.bool for v in (*args, *named.values()))
        for given, at in places:
            takers = [a for schema in schemas for i, a in enumerate(schema.arguments) if at in (i, a.name)]
            names = {a.name for a in takers if str(a.type) in ("number", "Optional[number]")}
            if not names or any(str(a.type) == "bool" for a in takers):
                continue
            tensors = any(a.name in names and str(a.type) == "Tensor" for schema in schemas for a in schema.arguments)
            if function is torch.full and named.get("dtype") is None:
                named["dtype"] = torch.bool
            given[at] = torch.full((), int(given[at]), dtype=torch.bool) if beside_bools and tensors else int(given[at])
        return function(*args, **named)


class lengths_opened(TorchFunctionMode):
    """A size, which is a tensor while a model is traced, where an operator takes one number or a list of them (conv2d's padding),
    of which PyTorch makes an empty list: a list of it."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        args, named = list(args), dict(kwargs or {})
        places = [(given, at) for given, items in ((args, enumerate(args)), (named, named.items())) for at, value in items
                  if isinstance(value, torch.Tensor) and value.dim() == 0 and value.dtype == torch.int64]
        schemas = _schemas_of(function) if places else []
        for given, at in places:
            kinds = {str(a.type) for schema in schemas for i, a in enumerate(schema.arguments) if at in (i, a.name)}
            if "List[int]" in kinds and kinds <= {"List[int]", "Optional[List[int]]", "str"}:
                given[at] = [given[at]]
        return function(*args, **named)


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")  # as Python's operators, too


class comparisons_opened(TorchFunctionMode):
    """A comparison of sizes, which is a tensor while a model is traced, where an operator takes a bool (attention's is_causal) and
    PyTorch no tensor: the example's answer, of which the tracer warns."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        answer = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "").strip("_") not in _COMPARISONS or not isinstance(answer, torch.Tensor) or answer.dim() > 0:
            return answer
        if not _is_of_sizes(torch._C._get_value_trace(answer).node()):
            return answer
        if frame := _frame():
            warnings.warn_explicit("A comparison of sizes is the example's, where an operator takes it as a bool.", torch.jit.TracerWarning,
                                   frame.filename, frame.lineno)
        with _untraced():
            return bool(answer)


def _is_of_sizes(node):
    """Whether a node of a trace computes with nothing but sizes and constants."""
    if node.kind() in ("aten::size", "prim::Constant"):
        return True
    return node.kind() != "prim::Param" and all(_is_of_sizes(value.node()) for value in node.inputs())


@contextlib.contextmanager
def autocast_refused():
    """A region of autocast that computes in half precision, which a trace would keep as casts without a name."""
    enter = torch.autocast.__enter__

    def refuse(dtype, line=""):
        raise unsupported(f"{line}autocast on cpu to {dtype}, whose results have half the precision, cannot be "
                          "exported: leave it out, or enable it by a flag that is off while the model is exported")

    def refused(region):
        if region._enabled and region.device == "cpu":
            refuse(region.fast_dtype, _line())
        return enter(region)

    if torch.is_autocast_enabled("cpu"):
        refuse(torch.get_autocast_dtype("cpu"))
    torch.autocast.__enter__ = refused
    try:
        yield
    finally:
        torch.autocast.__enter__ = enter


def _frame():
    """The first frame outside torch and this package; None where there is none."""
    inside = tuple(os.path.dirname(f) + os.sep for f in (torch.__file__, __file__))
    return next((f for f in reversed(traceback.extract_stack()) if not f.filename.startswith(inside)), None)


def _line():
    """"model.py:7: " of it."""
    frame = _frame()
    return f"{_C.stored_path(frame.filename)}:{frame.lineno}: " if frame else ""


@contextlib.contextmanager
def compiled_functions_opened():
    """A function that torch.compile has made, which torch.jit.trace refuses, calls the one that it is made of, as where torch.fx traces."""
    symbolic = torch.fx._symbolic_trace
    before = symbolic._is_fx_tracing_flag
    symbolic._is_fx_tracing_flag = True
    try:
        with torch._dynamo.config.patch(error_on_nested_fx_trace=False):
            yield
    finally:
        symbolic._is_fx_tracing_flag = before


@contextlib.contextmanager
def compiled_opened(model):
    """What torch.compile or Module.compile() has wrapped, inside of a module or what it calls, is called as it was before."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
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
