"""Runs an ExportedProgram in PyTorch."""

import copy

import torch

from .containers import Dict, children_of, fx_flattens, rebuild


def inputs_of(program, args):
    """Returns positional arguments, in the containers with which the program was exported."""
    args_spec, kwargs_spec = children_of(program.call_spec.in_spec)
    return [rebuild(s, a) for s, a in zip([*children_of(args_spec), *children_of(kwargs_spec)], args)]


def reference_of(program):
    """Returns a function (method, args) -> PyTorch's answer, each time from the initial state of the program."""
    base = program.module()
    args_spec, kwargs_spec = children_of(program.call_spec.in_spec)
    n = len(children_of(args_spec))

    def answer(_, args):
        given = inputs_of(program, args)
        with torch.no_grad(), fx_flattens(program.call_spec.in_spec):
            return copy.deepcopy(base)(*given[:n], **dict(zip(Dict.keys(kwargs_spec), given[n:])))

    return answer


def example_of(program):
    """Returns the example inputs of the export as a tuple; None if the program does not store them."""
    if not getattr(program, "example_inputs", None):
        return None
    args, kwargs = program.example_inputs
    return (*args, *kwargs.values())
