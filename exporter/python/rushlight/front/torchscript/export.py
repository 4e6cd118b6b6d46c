"""Exports TorchScript: gives the exporter the description of a program, and PyTorch's answers."""

import json

import torch

from ...base import core
from ..answers import answers_of
from .load import load_torchscript
from .program import describe
from .subject import Subject


def subject_of(target, train, args, methods=None, is_traced=False):
    torch._C._jit_set_texpr_fuser_enabled(False)  # its code generation does not end for some graphs
    if isinstance(target, str):
        target = load_torchscript(target)
    return Subject(target, train, args, methods, is_traced)


def export(request):
    captured, settings, examples = request.captured, request.settings, request.examples
    subject = subject_of(captured.target, settings["train"], examples[0]["args"] if examples else (), captured.methods,
                         captured.reference is not None)
    description = describe(subject, settings["methods"], settings["source"], settings["lines"])
    if captured.none_inputs:
        description["meta"].append(("none inputs", json.dumps(captured.none_inputs)))
    if captured.reference is None:
        reference = subject.answer
    else:
        def reference(method, args):
            return subject.result(method, captured.reference(method, args))
    return core.export_graph(description, settings, [subject.example(e) for e in examples],
                             answers_of(reference, subject.graph_answer, subject.trace))
