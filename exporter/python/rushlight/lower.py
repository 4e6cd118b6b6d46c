"""A model that runs in Rushlight's native runtime, as an nn.Module."""

from __future__ import annotations

import json
import keyword
import os
import tempfile
import unicodedata
from collections.abc import Iterable
from typing import Any

import torch
from torch.fx.experimental import proxy_tensor

from . import _build, lowered_source
from .base.printable import printable
from .export import export
from .front.captured import KEEPS_DICTS

_loaded = set()


def load_library() -> str:
    """Registers torch.classes.rushlight, as torch.classes.load_library(path) does.

    A lowered model in a file of torch.jit.save needs it before torch.jit.load. If there is no build, the first call compiles one,
    which takes minutes.

    Returns:
        str: path of the library, for torch.classes.load_library in a process without this package, or for dlopen in C++

    Raises:
        RuntimeError: there is no build, and none can be made
    """
    path = _build.class_library()
    if path not in _loaded:
        torch.classes.load_library(path)
        _loaded.add(path)
    return path


def lower(model: Any, example_inputs: Any = None, *, methods: Iterable[str] = ("forward",), **options: Any) -> Lowered:
    """Converts a model to an nn.Module that runs in Rushlight's runtime.

    The module can be run, scripted, traced (also with torch.fx) as a part of a larger model, copied, and saved with torch.save and
    torch.jit.save. It contains the bytes of a .rush file and the attributes that the program has written. Inputs and results have the
    structure of the model's. A result that is a named tuple keeps its name and fields. A named tuple inside of it becomes a plain tuple.

    It is for inference on the CPU: an input that requires gradients is refused while gradients are enabled. Writes to tensors reach
    the caller's tensors, as in PyTorch. Changes to lists and dicts do not. Ctrl-C ends a run with KeyboardInterrupt; a scripted module
    around it raises RuntimeError first. Operators of your own need a decomposition (register_decomposition).

    Args:
        model: as for rushlight.export
        example_inputs: as for rushlight.export
        methods: as for rushlight.export
        options: all other arguments of rushlight.export

    Returns:
        Lowered: in evaluation mode

    Raises:
        RushlightError: and any other error of rushlight.export
    """
    load_library()
    handle, path = tempfile.mkstemp(suffix=".rush")
    os.close(handle)
    try:
        keeps = KEEPS_DICTS.set(True)
        export(model, example_inputs, path, methods=methods, **{"test_vectors": False, **options})
        interpreter = torch.classes.rushlight.Interpreter(path)
    finally:
        KEEPS_DICTS.reset(keeps)
        if os.path.exists(path):
            os.unlink(path)
    return wrap(interpreter, _defaults(model))


def wrap(interpreter, defaults=None):
    """Makes the nn.Module around an Interpreter of an exported file.

    Args:
        interpreter: a torch.classes.rushlight.Interpreter
        defaults: {method: {input: value}} of inputs that may be left out

    Raises:
        ValueError: the name of a method cannot be the name of a member
    """
    spec = []
    for m in json.loads(interpreter.describe())["methods"]:
        known, inputs, optional = (defaults or {}).get(m["name"], {}), [], True
        for port in reversed(m["inputs"]):
            optional = optional and port["optional"] and port["name"] in known
            inputs.insert(0, (port["name"], port["type"], optional, known[port["name"]] if optional else None))
        spec.append((m["name"], tuple(inputs), m["result"], tuple(p["name"] for p in m["outputs"])))
    lowered = _rebuild(tuple(spec))
    lowered.interpreter = interpreter
    return lowered.eval()


def _check_interrupt():
    """Python raises a waiting KeyboardInterrupt at the start of a function, such as this one."""


class Lowered(torch.nn.Module):
    """The result of lower(). It has the methods that were lowered, with the signatures of the model's.

    Attributes:
        interpreter: a torch.classes.rushlight.Interpreter, constructed from a path or from a uint8 tensor with the bytes of a file.
            Its methods are `forward(Tensor[]) -> Tensor[]`, `call(str method, Any[] args) -> Any`, `methods() -> str[]`, `reset()`,
            which sets all attributes to the values in the file, and `describe() -> str`. Threads may share it: each run uses a session
            of a pool.
    """

    def __reduce__(self):
        return _rebuild, (self._spec,), self.__dict__

    def _run(self, index, *args):
        """Runs a method in Python. The code is compiled, so that types are those of TorchScript."""
        method = self._spec[index][0]
        for a in args:
            if isinstance(a, torch.fx.Proxy):
                return self._leaf(method, args, a.tracer)
        if proxy_tensor.get_proxy_mode() is not None:  # such a trace records no call: the result would be a constant of the graph
            raise torch.fx.proxy.TraceError(
                "make_fx and torch.export cannot trace a lowered module: use torch.fx.symbolic_trace, which records it as one call, "
                "or lower the model after tracing")
        try:
            return self._compiled(method)(self.interpreter, *args)
        except RuntimeError:
            _check_interrupt()  # raises KeyboardInterrupt if that ended the run
            raise

    def _leaf(self, method, args, tracer):
        """Records one call, as torch.fx does for the modules of torch.nn."""
        path = tracer.path_of_module(self)
        if method != "forward" or not path:
            raise torch.fx.proxy.TraceError(
                "torch.fx must trace a model that contains the lowered module and calls its forward, got the lowered module or "
                "another method")
        return tracer.create_proxy("call_module", path, args, {})

    @classmethod
    def _compiled(cls, method):
        if method not in cls._functions:
            cls._functions[method] = torch.jit.script(cls._sources[method])
        return cls._functions[method]

    def extra_repr(self):
        return printable(", ".join(f"{name}({', '.join(f'{i[0]}: {i[1]}' for i in inputs)}) -> {result}"
                               for name, inputs, result, _ in self._spec))


def _defaults(model):
    """Returns {method: {argument: default}} of a model with TorchScript schemas."""
    functions = {}
    if isinstance(model, torch.jit.ScriptFunction):
        functions["forward"] = model
    elif isinstance(model, torch.jit.ScriptModule):
        functions = {name: getattr(model, name) for name in model._c._method_names()}
    out = {}
    for name, function in functions.items():
        out[name] = {a.name: a.default_value for a in function.schema.arguments
                     if a.has_default_value() and isinstance(a.default_value, (int, float, str, type(None)))}
    return out


# ---- The class of a lowered module


def _member(name):
    """Returns the name of a method as a member of the class. Refuses a name that cannot be a member, or would replace one."""
    plain = name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name
    if not plain or (name != "forward" and (name.startswith("_") or name in _OWN or hasattr(Lowered, name))):
        raise ValueError(f"a method of a lowered module must have a name that is a Python identifier and no member of "
                         f"torch.nn.Module, got {ascii(name[:100])}: call it by the module's interpreter, "
                         "torch.classes.rushlight.Interpreter(path).call(name, args)")
    return name


_OWN = ("interpreter", "training")  # members that an instance gets


def _rebuild(spec):
    """Returns a module without its interpreter. The module has its own class."""
    load_library()
    members = {"_spec": spec, "_functions": {}, "_sources": {}, "__module__": __name__}
    for i, (name, inputs, result, fields) in enumerate(spec):
        outside, inside = lowered_source.functions(i, inputs, result, fields)
        members["_sources"][_member(name)] = outside
        members[name] = inside if name == "forward" else torch.jit.export(inside)
    return type("Lowered", (Lowered,), members)()
