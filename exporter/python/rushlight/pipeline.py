"""The function pipeline()."""

from __future__ import annotations

import inspect
import warnings

from typing import Any

import torch

_SCRIPTED = (torch.jit.ScriptModule, torch.jit.ScriptFunction)


def pipeline(pre: Any, model: Any, post: Any = None) -> torch.nn.Module:
    """Joins a model with the code before and after it, so that one file has all of it.

        detector = rushlight.pipeline(letterbox, yolo, boxes)
        rushlight.export(detector, (picture,), "detector.rush", dynamic_shapes={"picture": {1: "height", 2: "width"}})

    Each part gets the results of the part before it: a tuple becomes several arguments. A part takes one value for each
    parameter without a default, and at least one. The other values go to the next part, behind its results. For example, the scale
    of a letterbox goes past the model to the boxes.

    `pre` and `post` are scripted, which keeps their loops and branches. If TorchScript refuses one, it is traced with the model, and a
    warning gives the reason. Parts pass tensors, and lists and tuples of them.

    Args:
        pre: a module or a function, which gets the inputs of the file; None for none
        model: a module or a function
        post: a module or a function, whose result is that of the file; None for none

    Returns:
        nn.Module: runs in PyTorch, too

    Raises:
        TypeError: a part is neither a module nor a function
    """
    parts = []
    for name, part in (("pre", pre), ("model", model), ("post", post)):
        if part is None and name != "model":
            continue
        if not callable(part) or isinstance(part, type):
            raise TypeError(f"{name} must be a module or a function, got {type(part).__name__}")
        parts.append(part if name == "model" else _scripted(name, part))
    kind = type("Pipeline", (_Pipeline,), {"forward": _forward_like(parts[0])})
    return kind(parts)


class _Pipeline(torch.nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.counts = [len(_required(part)) or 1 for part in parts]
        self.parts = torch.nn.ModuleList(part if isinstance(part, torch.nn.Module) else _Function(part) for part in parts)
        self.training = False

    def run(self, values):
        result = None
        for part, count in zip(self.parts, self.counts):
            if len(values) < count:
                raise TypeError(f"a part of a pipeline must get {count} values, got {len(values)}")
            result = part(*values[:count])
            _refuse_numbers(result)
            values = (*(result if isinstance(result, tuple) else (result,)), *values[count:])
        return values if isinstance(result, tuple) or len(values) > 1 else result


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return self.function(*values)


def _forward_like(part):
    """Returns a forward with the names of the part's inputs."""
    def forward(self, *values):
        return self.run(values)

    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    own += [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in _required(part) or ["x"]]
    forward.__signature__ = inspect.Signature(own)
    return forward


def _required(part):
    """Returns the names of the parameters that have no default."""
    if isinstance(part, _SCRIPTED):
        schema = part.schema if isinstance(part, torch.jit.ScriptFunction) else part.forward.schema
        return [a.name for a in schema.arguments if a.name != "self" and not a.has_default_value()]
    parameters = inspect.signature(part.forward if isinstance(part, torch.nn.Module) else part).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _scripted(name, part):
    if isinstance(part, _SCRIPTED):
        return part
    try:
        return torch.jit.script(part.eval() if isinstance(part, torch.nn.Module) else part)
    except Exception as error:  # torch.jit.script raises errors of many types
        reason = next((line.strip() for line in str(error).splitlines() if line.strip(" :")), type(error).__name__)
        warnings.warn(f"{name} of the pipeline is traced, because torch.jit.script refuses it: {reason}", stacklevel=3)
        return part


def _refuse_numbers(result):
    for value in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(value, (bool, int, float)):
            raise TypeError(f"the parts of a pipeline must pass tensors, got the {type(value).__name__} {value}, which tracing would fix: "
                            "return torch.tensor(...) or x.new_tensor(...) of it")
