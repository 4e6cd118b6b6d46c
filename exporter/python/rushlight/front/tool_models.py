"""Models of the command line."""

import torch

from ..base.core import description_of, port_of
from .answers import answers_of, tracing
from .torchscript.export import subject_of
from .torchscript.program import describe, signature


def program(request, values, answers):
    """Returns the description of the model that `export` names. Its answers join `answers`."""
    subject = _load_subject(request)
    answers.update(answers_of(subject.answer, subject.graph_answer, subject.trace))
    return description_of(describe(subject, request["methods"], request["source"]), values)


def inputs(request, values, answers):
    """Returns the inputs of the method that `diff` names. The trace of the model joins `answers`."""
    subject = _load_subject(request)
    answers["trace"] = tracing(subject.trace)
    return [port_of(port, values) for port in signature(subject.method(request["methods"][0]))]


def _load_subject(request):
    for library in request["libraries"]:
        torch.ops.load_library(library)
    return subject_of(request["path"], request["train"], ())
