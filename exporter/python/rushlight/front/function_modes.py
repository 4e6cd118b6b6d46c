"""TorchFunctionModes for the second attempt to trace a model. They change arguments that torch.jit.trace cannot record."""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from ..base.user_frame import warn_user
from .trace_patches import untraced


class TensorsAsConstants(TorchFunctionMode):
    """Tensors that require gradients and belong to no module become constants of the trace. Such tensors are in a list of the model
    or in a function's closure."""

    def __init__(self):
        super().__init__()
        self.constants = {}  # {id: (tensor, the tensor without gradients)}; the reference keeps the id unique

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
        except RuntimeError:  # it requires gradients and is unknown; tracing has stopped
            return self.constants.setdefault(id(value), (value, value.detach()))[1]
        finally:
            torch._C._set_tracing_state(state)


# Python's names of operators for which PyTorch has another name.
_OPERATORS = {"floordiv": "floor_divide", "truediv": "div", "mod": "remainder"}


def _schemas_of(function):
    """Returns the overloads that return tensors of the operator with the name of a function of torch or torch.Tensor."""
    name = getattr(function, "__name__", "")
    plain = name.strip("_")
    for known in (name, plain, plain[1:], _OPERATORS.get(plain, plain)):  # x.__radd__(y), x.__iadd__(y)
        schemas = torch._C._jit_get_schemas_for_operator(f"aten::{known}")
        if schemas := [s for s in schemas if any(str(r.type) == "Tensor" for r in s.returns)]:
            return schemas
    return []


class BoolsAsNumbers(TorchFunctionMode):
    """A bool becomes 0 or 1 if an operator takes a number, as in torch.full(sizes, True) or mask == True.

    Next to a bool tensor it becomes a bool tensor if the operator takes one, so that types promote as for a bool.
    """

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


class SizesAsLists(TorchFunctionMode):
    """A size becomes a list with that size if an operator takes one number or a list of them, as conv2d's padding.

    Sizes are tensors while a model is traced, and PyTorch would convert a tensor to an empty list.
    """

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


_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class ComparisonsAsBools(TorchFunctionMode):
    """A comparison of sizes becomes a bool with the example's value, if an operator takes a bool, as attention's is_causal.

    It is a tensor while a model is traced, and PyTorch refuses one there. A TracerWarning reports the fixed value.
    """

    def __torch_function__(self, function, types, args=(), kwargs=None):
        answer = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "").strip("_") not in _COMPARISONS or not isinstance(answer, torch.Tensor) or answer.dim() > 0:
            return answer
        if not _is_of_sizes(torch._C._get_value_trace(answer).node()):
            return answer
        warn_user("the comparison of sizes keeps the example's result, because an operator takes it as a bool", torch.jit.TracerWarning)
        with untraced():
            return bool(answer)


def _is_of_sizes(node):
    """Returns whether a node of a trace depends on sizes and constants alone."""
    if node.kind() in ("aten::size", "prim::Constant"):
        return True
    return node.kind() != "prim::Param" and all(_is_of_sizes(value.node()) for value in node.inputs())
