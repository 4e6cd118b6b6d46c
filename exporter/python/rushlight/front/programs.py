"""The front for several ExportedPrograms in one file, which share weights and state."""

import copy
import os

import torch

from ..exported_program.attributes import Attributes
from ..exported_program.files import is_program_file
from ..exported_program.reference import call, example_of
from . import inputs
from .capture import refuse_meta
from .captured import Captured, MethodCall
from .methods import checked_name
from .program import capture_program


def programs_of(given):
    """Returns {method: (ExportedProgram, example inputs)} of a dict of methods; {} if they are no ExportedPrograms.

    Raises:
        ValueError: only some of them are, or one has no example inputs
    """
    found = {name: pair for name, value in given.items() if (pair := _program(value)) is not None}
    for name in given:
        if found and name not in found:
            raise ValueError(f"all methods must be ExportedPrograms if one of them is, got {type(given[name]).__name__} for {name!r}")
    return {checked_name(name): (program, _example(name, program, example)) for name, (program, example) in found.items()}


def _program(value):
    """Returns a program and its given inputs, or None."""
    program, example = value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, None)
    if isinstance(program, (str, os.PathLike)) and is_program_file(program):
        program = torch.export.load(program)
    return (program, example) if isinstance(program, torch.export.ExportedProgram) else None


def _example(name, program, given):
    if given is not None:
        return inputs.positional(program, given, f"the example inputs of {name!r}")[0]
    example = example_of(program)
    if example is None:
        raise ValueError(f"the method {name!r} must have example inputs, which its program does not store: give (program, inputs)")
    return example


def capture_programs(given, source=True):
    """Converts the graphs of ExportedPrograms, as programs_of gives them. `source`: keep their Python lines and texts.

    Raises:
        RushlightError: one contains something that cannot be exported, or they cannot share state
    """
    programs = {name: program for name, (program, _) in given.items()}
    attributes, first, each = Attributes(programs), None, {}
    for name, (program, example) in given.items():
        refuse_meta(program, example)
        each[name] = capture_program(program, source, name, attributes, first)
        first = first or each[name].target["methods"][0]["graph"]
    described = {"methods": [one.target["methods"][0] for one in each.values()],
                 "texts": [text for one in each.values() for text in one.target["texts"]],
                 "meta": next(iter(each.values())).target["meta"]}
    return Captured(described, "torch.export", lambda method, args: each[method].reference(method, args),
                    notes=[f"{name}: {note}" for name, one in each.items() for note in one.notes],
                    calls=_run_in_sequence(given, attributes, each), program=programs,
                    result=lambda method, value: each[method].result(method, value),
                    graph=lambda method, *how: each[method].graph(method, *how),
                    tracer=lambda method, *how: each[method].tracer(method, *how))


def _run_in_sequence(given, attributes, each):
    """Calls each program once, in the state that those before it leave. Returns a list of MethodCall."""
    known = {id(p): p for program, _ in given.values() for _, p in program.named_parameters()}  # no program writes them
    for later, earlier in attributes.twins:
        if id(later) not in known:
            known[id(later)] = copy.deepcopy(earlier, known)
    modules = {name: copy.deepcopy(program.module(), known) for name, (program, _) in given.items()}
    out = []
    for name, (program, example) in given.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)  # of test vectors
            answer = call(modules[name], program, copy.deepcopy(example))
        out.append(MethodCall(name, example, each[name].result(name, answer)))
    return out
