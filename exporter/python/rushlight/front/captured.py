"""The result of every front."""

import contextvars
import dataclasses
import itertools
import keyword
from typing import NamedTuple

import torch

from ..base import core


KEEPS_DICTS = contextvars.ContextVar("keeps_dicts", default=False)
"""Whether a dict stays one output. Otherwise its keys name the outputs."""


def are_names(keys):
    """Returns whether the keys of a dict can be the names of outputs."""
    return bool(keys) and not KEEPS_DICTS.get() and all(
        isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key) and not key.startswith("_") for key in keys)


class TraceWarning(NamedTuple):
    """A warning of the tracer."""

    place: str  # "model.py:7"; "" if unknown
    message: str
    of_int: bool = False  # whether Python's int() of a size fixed it

    def __str__(self):
        return f"{self.place}: {self.message}" if self.place else self.message


class MethodCall(NamedTuple):
    """A call of a method, from the state that the calls before it leave."""

    method: str
    args: tuple
    answer: object


@dataclasses.dataclass
class Captured:
    """A program that the exporter takes, and how a model became one."""

    target: object  # TorchScript, the path of its file, or the description of an ExportedProgram
    route: str = "TorchScript"  # as in Report.route
    reference: object = None  # (method, args) -> PyTorch's answer; None: the target answers
    warnings: list = dataclasses.field(default_factory=list)  # of TraceWarning
    notes: list = dataclasses.field(default_factory=list)  # as in Report.notes
    lines: dict = dataclasses.field(default_factory=dict)  # as fx_graph.lines_of gives
    methods: dict = dataclasses.field(default_factory=dict)  # {name: that of the target}, where they differ
    calls: list = dataclasses.field(default_factory=list)  # of MethodCall: a call of each of several methods
    program: object = None  # the ExportedProgram, if it is one, or {method: ExportedProgram}
    none_inputs: dict = dataclasses.field(default_factory=dict)  # {method: [(position, name)]}, as inputs.none_inputs gives them
    result: object = None  # (method, its answer) -> that of the file, which may have names
    graph: object = None  # (method, args, exact) -> answer of the ExportedProgram's graph, in float64 if `exact`
    tracer: object = None  # (method, args, exact) -> values of all its nodes

    def input_names(self, given=(), method="forward"):
        """Returns names of a method's inputs. `given` replaces the first ones."""
        names = []
        if method in self.methods:
            names = [a.name for a in self.target._c._get_method(self.methods[method]).schema.arguments[1:]]
        elif self.program is not None:
            names = [port["name"] for port in self._ports(method)]
        elif isinstance(self.target, torch.jit.ScriptFunction):
            names = [a.name for a in self.target.schema.arguments]
        elif isinstance(self.target, torch.jit.ScriptModule) and hasattr(getattr(self.target, "forward", None), "schema"):
            names = [a.name for a in self.target.forward.schema.arguments[1:]]
        names = core.unique_names(names)
        return [*(mine or own for mine, own in itertools.zip_longest(given, names[: len(given)])), *names[len(given):]]

    def constraints(self, given=(), method="forward"):
        """Returns [(input, constraints on its sizes), ...] of a method of an ExportedProgram."""
        ports = self._ports(method) if self.program is not None else []
        return [(name, port.get("constraints", [])) for name, port in zip(self.input_names(given, method), ports)]

    def _ports(self, method):
        return next(one["inputs"] for one in self.target["methods"] if one["name"] == method)


def grouped(warnings):
    """Returns lines of text: each message once, after all its places."""
    places = {}
    for warning in warnings:
        places.setdefault(warning.message, []).append(warning.place)
    return [f"{', '.join(found)}: {message}" if found[0] else message for message, found in places.items()]
