"""Answers librushlight_native's questions on PyTorch."""

import torch

from ..base import native
from ..base.core import description_of
from ..base.results import Answer
from .operator_calls import calls_during
from .schemas import overloads_of, schema_of
from .torchscript import operator_programs
from .torchscript.program import describe_function


def _operator_program(op, values):
    """Returns the description of an operator's program, or None if it has none."""
    program = operator_programs.program_of(op)
    return program and description_of(describe_function(program), values)


native.answers.update({"schema": lambda op, _: schema_of(op), "overloads": lambda name, _: overloads_of(name),
                       "operator_program": _operator_program})


def answers_of(reference, graph, tracer):
    """Returns the answers for an export.

    Args:
        reference: (method, args) -> PyTorch's answer
        graph: (method, args, exact) -> the answer of its graph
        tracer: (method, args, exact) -> the values of its nodes, with or without the answer; or None
    """
    def from_model(question):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)  # of test vectors
            return reference(question["method"], _args(question))

    def from_graph(question):
        return graph(question["method"], _args(question), question["in_double"])

    def calls(question, values):
        run = question["run"]
        of = from_graph if run["in_double"] else from_model
        return [[op, [values.value(t) for t in tensors], i] for op, tensors, i in calls_during(lambda: of(run), question["wanted"])]

    return {"reference": lambda question, values: values.value(from_model(question)),
            "graph": lambda question, values: values.value(from_graph(question)), "trace": tracing(tracer), "calls": calls}


def tracing(tracer):
    """Returns the answer to "trace", of `tracer` as in answers_of."""
    def trace(question, values):
        seen = tracer(question["method"], _args(question), question["in_double"])
        nodes, *result = seen if isinstance(seen, tuple) else (seen,)
        out = {"nodes": [[_signed(handle), [values.value(v) for v in results]] for handle, results in nodes]}
        return {**out, "result": values.value(result[0])} if result else out

    return trace


def _args(question):
    return tuple(Answer(question["args"], numpy=False).value())


def _signed(handle):
    return handle - (1 << 64) if handle >= 1 << 63 else handle
