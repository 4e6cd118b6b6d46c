"""Exports a PyTorch model to a .rush file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from .base import core
from .base.errors import RushlightError, utf8_only
from .specialization import explain_specialization
from .front.answers import answers_of
from .front.torchscript import export as torchscript
from .report import Report, note_cosines, report_of
from .request import request_of
from .method_sequence import check_sequence


def export(
    model: Any,
    example_inputs: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    methods: Iterable[str] = ("forward",),
    inputs: Iterable[str] = (),
    input_names: Iterable[str] = (),
    output_names: Iterable[str] = (),
    dynamic_shapes: Any = None,
    tests: Iterable[Sequence[Any]] = (),
    test_inputs: Iterable[Any] = (),
    verify: bool = True,
    test_vectors: bool = True,
    train: bool = False,
    source: bool = True,
    trace: bool = False,
    allow_missing: bool = False,
    assets: Mapping[str, bytes | bytearray | memoryview | str | os.PathLike[str]] | None = None,
    quantize: str | Mapping[str, str | None] = "",
    calibration: Iterable[Any] | None = None,
    dump_after: str = "",
    rtol: float = -1.0,
    atol: float = -1.0,
) -> Report:
    """Exports `model` to a .rush file, runs the file natively and compares its answers with PyTorch's.

    The file stores the program and all tensors of the model, in their dtypes: float16, float32, float64, bfloat16, int8 to int64,
    uint8, bool, complex64 and complex128. Sizes stay dynamic where the program leaves them dynamic. If an error is raised, no file is
    written.

    Args:
        model: an nn.Module or a function (both are traced), a ScriptModule, a ScriptFunction, a torch.fx.GraphModule, an
            ExportedProgram, or the path of a file of torch.jit.save or torch.export.save. The wrappers of torch.compile and
            DataParallel are removed. A dict gives the file several methods, which are traced:
            {"encode": (model.encode, (x,)), "step": (decoder, (token, position))}. Each is a module, a function or a method of a module
            with its example inputs. They share weights, and the buffers that one writes and another reads. Each is verified from the
            state in the model, and then all of them one after the other. All may be ExportedPrograms instead, or paths of their files,
            each alone or with example inputs. They share tensors that have the same memory, or the same name and the same elements.
            `input_names`, `output_names`, `dynamic_shapes` and `test_inputs` are then dicts by method
        example_inputs: the inputs for tracing and verification: one tensor, a tuple of positional arguments, or a dict by name.
            They belong to forward, or to the first method if forward is not exported
        path (str or PathLike): path of the file to write
        methods: names of the methods to export. Methods other than forward need a ScriptModule
        inputs: descriptions of random inputs, in place of examples: "x=1x3x224x224:float32", as on the command line
        input_names: new names for the inputs of the first method, in order
        output_names: new names for its outputs
        dynamic_shapes: constraints on sizes: {input: {dimension: name}}, or any other form that torch.export takes. The file
            stores them, and every runtime checks them. Sizes with the same name must be equal, those of a Dim must be in its range,
            and an int is the only size allowed. An input that is a list or dict takes the same nesting; its constraints are
            verified at other sizes, but not checked in calls. An ExportedProgram has its own constraints
        tests: test vectors to store: (args, expected), (args, expected, rtol, atol) or (args, expected, rtol, atol, method).
            If `expected` is None, PyTorch computes it, after torch.manual_seed(1) if the model draws random numbers
        test_inputs: further inputs to verify with, in the form of example_inputs. The file does not store them. Real inputs show
            differences that random ones do not, for example in the boxes of a detector
        verify (bool): compare the file with PyTorch
        test_vectors (bool): store test vectors of random inputs, which verify() of every runtime replays
        train (bool): keep the training mode. Otherwise the model is exported in evaluation mode
        source (bool): store Python lines, with relative paths, and PyTorch's texts of graph and code
        trace (bool): store the value of each operator for the first test vector, so that diff() needs no model
        allow_missing (bool): write the file even if the runtime lacks operators, which the caller of the file must supply
        assets (dict): files for the application that the file holds as well: {name: contents}. The contents are bytes, a str with
            the text, or a pathlib.Path of a file. `Session.asset` and `model.asset` of JavaScript return them
        quantize (str or dict): reduces the bits of constant weights with at least 1024 elements. The report says how far the answers
            are from PyTorch's, and test vectors expect the file's own answers. A dict gives layers different bits, as in
            {"lm_head": "int8", "*.down_proj": None, "*": "int4"}: the first pattern that matches the path of the module decides, *
            stands for any characters, and None keeps all bits.

            - "int8": weights of linear layers, one scale for each output; activations are quantized at run time, row by row. Rows of
              embeddings have one scale each
            - "int8-static": as "int8", and convolutions, sums, pools and what is between them, with ranges from `calibration`
            - "int4": weights of linear layers in groups of 32 with one scale each; activations get 8 bits at run time. Embeddings,
              and layers that share their weights, get 8 bits.
              "int4:64" and "int4:128" set the size of a group; ":zero-points" adds an integer zero point for each, and ":minima" a
              float minimum
            - "int8-weights", "int4-weights": weights alone; activations keep 16 bits
            - "float16": weights alone; those of convolutions are float32 in memory
        calibration (list): typical inputs, each in the form of example_inputs; ten to a hundred are enough. "int8-static" needs them for
            the ranges of activations, and takes example_inputs by default. With "int4", weights are rounded so that the errors of a
            layer's outputs cancel (GPTQ); a few thousand rows (tokens) are best
        dump_after (str): name of a pass or a stage of passes, after which the graph is printed
        rtol (float): tolerance relative to PyTorch's answer, as in torch.allclose. The default depends on the dtype; an answer is then
            also accepted if it is as close as PyTorch's to the answer in float64
        atol (float): absolute tolerance, with a default by dtype as well

    Returns:
        Report: describes the file and its verification

    Raises:
        RushlightError: the model cannot be exported ('unsupported': all operators that the runtime lacks are listed with their
            Python lines), the answers differ ('mismatch'), or a file cannot be read
        ValueError: the value of an argument is wrong
        TypeError: `model` has a type that cannot be exported
        Exception: any error that the model or PyTorch raises

    Warns:
        UserWarning: the warnings of the report
        torch.jit.TracerWarning: a size, value or branch that tracing fixed, at its line
    """
    arguments = dict(locals())
    with utf8_only():
        request, model = request_of(arguments.pop("model"), arguments.pop("example_inputs"), arguments.pop("path"), arguments)
        captured = request.captured
        try:
            fields = _exported(request)
            note_cosines(fields, check_sequence(request))
        except RushlightError as error:
            raise explain_specialization(error, captured)
    for text in fields["warnings"]:
        warnings.warn(text, stacklevel=2)
    return report_of(fields, captured, [*captured.notes, *_mode_notes(model, train)])


def _exported(request):
    if request.captured.program is None:
        return torchscript.export(request)
    captured = request.captured
    examples = [{**e, "expected": captured.result(e["method"], e["expected"])} if "expected" in e else e for e in request.examples]
    return core.export_graph(captured.target, request.settings, examples,
                             answers_of(captured.reference, captured.graph, captured.tracer))


def _mode_notes(model, train):
    if train or not getattr(model, "training", False) or isinstance(model, torch.export.ExportedProgram):
        return []
    return ["the model is in training mode; the file has evaluation mode, in which answers may differ (train=True keeps the mode)"]
