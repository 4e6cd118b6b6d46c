"""The front for torch.fx: a GraphModule is scripted, or traced if TorchScript refuses it."""

import torch

from .captured import Captured
from .fx_graph import lines_of, refuse_higher_order, typed
from .model_state import reference_of
from .tracer import traced


def capture_fx(module, example_inputs, train):
    """Returns a Captured program of a GraphModule.

    Raises:
        RushlightError: the graph cannot be exported
        ValueError: the graph must be traced, and there are no example inputs
    """
    reference = reference_of(module, train)
    if example_inputs is not None:
        reference.probe([("forward", tuple(example_inputs))])
    captured = capture_graph(module, example_inputs, train)
    captured.reference = reference
    return captured


def capture_graph(module, example_inputs, train):
    """Does the same without a reference."""
    refuse_higher_order(module)
    module = typed(module, example_inputs)
    lines = lines_of(module)
    try:
        return Captured(torch.jit.script(module), "FX graph, scripted", lines=lines)
    except Exception as error:  # torch.jit.script raises errors of many types
        refusal = " ".join(s.strip() for s in str(error).strip().splitlines()[:3] if s.strip(" :"))
        if example_inputs is None:
            raise ValueError(f"example_inputs must be given to trace this FX graph, which torch.jit.script refuses: {refusal}") from error
    script, warnings, _ = traced(module, tuple(example_inputs), train)
    return Captured(script, f"FX graph, traced because torch.jit.script refused it: {refusal}", warnings=warnings, lines=lines)
