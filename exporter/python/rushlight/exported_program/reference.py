"""Runs an ExportedProgram in PyTorch."""

import copy

import torch

from .containers import Dict, children_of, fx_flattens, rebuild


def inputs_of(program, args):
    """Returns positional arguments, in the containers with which the program was exported."""
    args_spec, kwargs_spec = children_of(program.call_spec.in_spec)
    return [rebuild(s, a) for s, a in zip([*children_of(args_spec), *children_of(kwargs_spec)], args)]


def call(module, program, args):
    """Returns the answer of a program's module for positional arguments."""
    args_spec, kwargs_spec = children_of(program.call_spec.in_spec)
    given, n = inputs_of(program, args), len(children_of(args_spec))
    with torch.no_grad(), fx_flattens(program.call_spec.in_spec):
        return module(*given[:n], **dict(zip(Dict.keys(kwargs_spec), given[n:])))


def reference_of(program, lent):
    """Returns a function (method, args) -> PyTorch's answer, each time from the initial state of the program.

    `lent`: the LentWeights of the program, which the function shows to be only read.
    """
    base = program.module()

    def run(args, aliases):
        return call(copy.deepcopy(base, aliases), program, args)

    example = example_of(program)
    if example is not None:
        lent.probe(lambda aliases: run(copy.deepcopy(example), aliases))
    return lambda _, args: lent.run(lambda aliases: run(args, aliases))


def example_of(program):
    """Returns the example inputs of the export as a tuple; None if the program does not store them."""
    if not getattr(program, "example_inputs", None):
        return None
    args, kwargs = program.example_inputs
    return (*args, *kwargs.values())
