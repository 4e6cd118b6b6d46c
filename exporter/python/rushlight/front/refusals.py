"""The refusals in place of PyTorch's errors during a trace."""

import torch
from torch.utils import _pytree as pytree

from ..base.errors import unsupported
from ..base.torch_messages import concerns_number, reactions_to


def result_error(reason):
    """Returns the error for a result that has no type in TorchScript."""
    return unsupported(f"tracing has no type for the model's result ({reason}): return tensors, numbers and strings, in tuples, "
                       "lists and dicts")


def explained_refusal(error, given):
    """Returns an error with a remedy in place of the tracer's; None for an error that the model itself raised. `given`: its inputs."""
    text, reactions = str(error), reactions_to(error)
    untraced = _untraced_types(given)
    if "input" in reactions or ("result" in reactions and untraced):
        return unsupported("inputs of a trace must be tensors, or lists, tuples and dicts of tensors"
                           f"{', got ' + ', '.join(untraced) if untraced else ''}: bind the others (functools.partial, a default), or "
                           "export torch.jit.script(model) or torch.export.export(model, example_inputs), which accept them")
    if "result" in reactions:
        return result_error(text.splitlines()[-1].lstrip(":"))
    if concerns_number(error):
        return unsupported("sizes are tensors while a model is traced, and the model passes one to a function that takes only numbers "
                           f"({text}): export torch.jit.script(model) or torch.export.export(model, example_inputs)")
    if "compiled" in reactions:
        return unsupported("the model calls torch.cond, another higher-order operator, or a function that torch.compile made, which cannot "
                           "be traced: export torch.export.export(model, example_inputs), or call the original function")
    if "dtypes" in reactions:
        return unsupported(f"the model and its example inputs must have the same dtype ({text.splitlines()[0]}): use model.float() and "
                           "float32 inputs")
    return None


def _untraced_types(given):
    """Returns names of types among the inputs that a trace does not accept."""
    leaves = pytree.tree_leaves(given, is_leaf=lambda value: value is None or (isinstance(value, (list, dict)) and not value))
    return sorted({f"an empty {type(v).__name__}" if isinstance(v, (list, dict)) else type(v).__name__
                   for v in leaves if not isinstance(v, torch.Tensor)})
