"""Checks the arguments of export() and brings them into the form that the exporter takes."""

import dataclasses
import os
from collections.abc import Mapping

import torch
from torch.utils import _pytree as pytree

from .assets import assets_of
from .base import core
from .base.values import require_utf8
from .decomposition import decompositions
from .exported_program.reference import example_of
from .front import dynamic_shapes, inputs
from .front.capture import capture
from .front.captured import Captured
from .front.methods import capture_methods
from .front.programs import capture_programs, programs_of
from .front.torchscript.program import describe_function

_DEFAULT = -1.0  # a tolerance that the dtype decides


@dataclasses.dataclass
class Request:
    """A captured model, with settings and examples as core.export_graph takes them."""

    captured: Captured
    settings: dict
    examples: list


def request_of(model, example_inputs, path, arguments):
    """Returns the Request of a call of export(). `arguments`: the values of its other parameters, by name.

    Raises:
        ValueError, TypeError: an argument is wrong
        RushlightError: the model cannot be captured
    """
    _check(path, arguments)
    core.forget_custom_schemas()
    tests = arguments["tests"]
    _refuse_wrong("example_inputs and tests", [example_inputs, [test[:2] for test in tests]])
    if _is_of_methods(model):
        captured, called = _request_of_methods(model, example_inputs, arguments)
    else:
        model = inputs.unwrapped(model)
        captured, called = _request_of_model(model, example_inputs, arguments)
    settings = {
        **{name: arguments[name] for name in _AS_GIVEN},
        "methods": [one.name for one in called] if captured.calls else list(arguments["methods"]),
        "inputs": list(arguments["inputs"]),
        "path": os.fspath(path),
        "port_names": [[one.name, list(one.input_names), list(one.output_names)] for one in called],
        "dynamic": [[one.name, *row] for one in called for row in _constraints(captured, one)],
        "tracer_warned": bool(captured.warnings),
        "assets": assets_of(arguments["assets"]),
        "quantize": _bits(arguments["quantize"]),
        "calibration": _calibration(called[0].model, arguments["calibration"], _bits(arguments["quantize"])),
        "lines": captured.lines,
        "decompositions": {op: describe_function(function) for op, function in decompositions().items()},
        "graph_is_reference": captured.reference is None,
    }
    return Request(captured, settings, _examples(called, arguments)), model


@dataclasses.dataclass
class _Called:
    """A method, with the options that apply to it."""

    name: str
    model: object  # whose forward it is
    example: tuple  # or None
    input_names: list
    output_names: list
    dynamic_shapes: object
    test_inputs: list


def _request_of_model(model, example_inputs, arguments):
    none = inputs.none_inputs(model, example_inputs)
    example_inputs, names = inputs.positional(model, example_inputs)
    captured = capture(model, example_inputs, arguments["train"], arguments["source"], names)
    methods = list(arguments["methods"])
    if captured.program is not None:
        if methods != ["forward"]:
            raise ValueError(f"methods of an ExportedProgram must be ('forward',), got {tuple(methods)}")
        if example_inputs is None and not arguments["inputs"]:
            example_inputs = example_of(captured.program)
    first = "forward" if "forward" in methods else methods[0]
    captured.none_inputs = {first: none} if none else {}
    input_names = arguments["input_names"] or (names or ())[:len(example_inputs or ())]
    return captured, [_Called(first, model, example_inputs, input_names, arguments["output_names"], arguments["dynamic_shapes"],
                              arguments["test_inputs"])]


_PER_METHOD = ("input_names", "output_names", "dynamic_shapes", "test_inputs")


def _is_of_methods(model):
    return isinstance(model, dict) and model and not any(isinstance(value, torch.Tensor) for value in model.values())


def _request_of_methods(methods, example_inputs, arguments):
    if example_inputs is not None:
        raise ValueError("example_inputs must not be given for several methods: each has its own, as in {'encode': (module, inputs)}")
    for name in "methods", "inputs":
        if list(arguments[name]) != (["forward"] if name == "methods" else []):
            raise ValueError(f"{name} must not be given for a dict of methods, got {arguments[name]!r}")
    for name in _PER_METHOD:
        value = arguments[name] or {}
        if not isinstance(value, dict) or not set(value) <= set(methods):
            raise ValueError(f"{name} of several methods must be a dict by method, whose keys are {', '.join(methods)}, got {value!r}")
    programs = programs_of(methods)
    captured = capture_programs(programs, arguments["source"]) if programs else capture_methods(methods, arguments["train"])
    none = {} if programs else {name: inputs.none_inputs(inputs.unwrapped(one), given) for name, (one, given) in methods.items()}
    captured.none_inputs = {name: found for name, found in none.items() if found}
    called = []
    for call in captured.calls:
        given = {name: (arguments[name] or {}).get(call.method) or () for name in _PER_METHOD}
        model = captured.program[call.method] if programs else inputs.unwrapped(methods[call.method][0])
        called.append(_Called(call.method, model, call.args, **given))
    return captured, called


_AS_GIVEN = ("verify", "test_vectors", "train", "source", "trace", "allow_missing", "dump_after")


def _check(path, arguments):
    if path is None:
        raise ValueError("path must be the path of the file to write, got None")
    for name in "methods", "input_names", "output_names":
        if isinstance(arguments[name], str):
            raise ValueError(f"{name} must be a list of names, got the string {arguments[name]!r}: give [{arguments[name]!r}]")


def _bits(quantize):
    """Returns the text of the option: a name, or "PATTERN=BITS,..." of a dict."""
    if quantize is None or isinstance(quantize, str):
        return quantize or ""
    if not isinstance(quantize, dict) or not quantize:
        raise ValueError(f'quantize must be a string such as "int8", or a dict such as {{"head": "int8", "*": "int4"}}, got {quantize!r}')
    for pattern, bits in quantize.items():
        if not isinstance(pattern, str) or not pattern or set(pattern) & {",", "="}:
            raise ValueError(f"quantize must have module paths as keys, with * and ? as wildcards, got {pattern!r}")
        if not isinstance(bits or "", str):
            raise ValueError(f'quantize must give the bits of "{pattern}" as a string or None, got {bits!r}')
    return ",".join(f"{pattern}={bits or ''}" for pattern, bits in quantize.items())


def _refuse_wrong(what, values):
    for text in _strings(values):
        require_utf8(text, f"a string in {what}")
    for value in pytree.tree_leaves(values):
        if type(value).__module__ == "numpy":
            raise ValueError(f"{what} must hold tensors or Python numbers, got numpy.{type(value).__name__}: use torch.from_numpy")


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        items = (part for item in value.items() for part in item) if isinstance(value, Mapping) else value
        for item in items:
            yield from _strings(item)


def _constraints(captured, called):
    names = captured.input_names(called.input_names, called.name)
    found = dynamic_shapes.constraints(called.dynamic_shapes or {}, names, called.example or ())
    return [*captured.constraints(called.input_names, called.name), *found.items()]


def _examples(called, arguments):
    """Returns all examples. A test is one of the first method if it names no other."""
    tolerances, examples = (arguments["rtol"], arguments["atol"]), []
    for one in called:
        if one.example is not None:
            examples.append(_example(one.example, None, *tolerances, one.name))
        for args in _all_positional(one.model, one.test_inputs, "test_inputs"):
            examples.append(_example(args, None, *tolerances, one.name, only_compared=True))
    for test in arguments["tests"]:
        args, expected, *rest = test
        rtol, atol, method = (*rest, *(_DEFAULT, _DEFAULT, called[0].name)[len(rest):])
        examples.append(_example(args, expected, rtol, atol, method, store=True))
    return examples


def _example(args, expected, rtol, atol, method, store=False, only_compared=False):
    out = {"method": method, "args": tuple(args), "rtol": rtol, "atol": atol, "store": store, "only_compared": only_compared}
    if expected is not None:
        out["expected"] = expected
    return out


def _all_positional(model, given, what):
    """Returns several examples as tuples. An error names the index of the wrong one."""
    if isinstance(given, torch.Tensor):
        raise ValueError(f"{what} must be a list of examples, got one tensor: give [tensor], or list(tensor.split(1))")
    examples = []
    for one in given:
        where = f"{what}[{len(examples)}]"
        if one is None:
            raise ValueError(f"{where} must be the inputs of one call, got None")
        _refuse_wrong(where, one)
        examples.append(inputs.positional(model, one, where)[0])
    return examples


def _calibration(model, calibration, quantize):
    if calibration is None:
        return []
    if quantize != "int8-static" and "int4" not in quantize:
        raise ValueError(f'calibration must not be given unless quantize is "int8-static" or has "int4", got quantize={quantize!r}')
    examples = _all_positional(model, calibration, "calibration")
    if not examples:
        raise ValueError("calibration must hold at least one example, got none: leave it out to calibrate with example_inputs")
    return examples
