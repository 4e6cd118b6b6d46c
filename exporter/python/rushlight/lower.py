"""A model that runs in Rushlight's native runtime, as an nn.Module."""

import json
import linecache
import os
import re
import tempfile
import typing

import torch
from torch.fx.experimental import proxy_tensor

from . import _build

_loaded = set()
_counter = iter(range(1 << 62))


def load_library():
    """Makes torch.classes.rushlight known, as torch.classes.load_library(path) does.

    What torch.jit.save wrote of a lowered model needs this before torch.jit.load. Where no build is found
    the first call compiles one, which takes minutes.

    Returns:
        The path of the library, for torch.classes.load_library in a process without this package, or dlopen in C++.

    Raises:
        RuntimeError: there is neither a build nor what one can be made of
    """
    path = _build.class_library()
    if path not in _loaded:
        torch.classes.load_library(path)
        _loaded.add(path)
    return path


def lower(model, example_inputs=None, *, methods=("forward",), **options):
    """An nn.Module that does what `model` does, in Rushlight's runtime.

    Args:
        model: as for rushlight.export
        example_inputs: as for rushlight.export
        methods: as for rushlight.export
        options: all others of rushlight.export

    Returns:
        A Lowered, in evaluation mode.

    Raises:
        RushlightError: and whatever rushlight.export raises

    It runs in Python, can be scripted and traced (torch.fx, too), also as a part of a larger model, copied, and saved with
    torch.save and torch.jit.save: the model is inside, as the bytes of a .rush file with the attributes
    that the program has written. Inputs and results have the model's structure. A result that is a named
    tuple comes as one of the same name and fields; deeper inside named tuples are plain ones.

    Operators of your own need a decomposition (register_decomposition): JavaScript and C cannot supply them here.

    Ctrl-C ends a run: KeyboardInterrupt. (From a scripted module around it a RuntimeError comes first.)

    For inference: an input that requires gradients is refused while gradients are on. Everything runs on
    the CPU. In-place writes reach the caller's tensors, as in PyTorch; changed lists and dicts do not.
    """
    from .export import export

    load_library()
    handle, path = tempfile.mkstemp(suffix=".rush")
    os.close(handle)
    try:
        export(model, example_inputs, path, methods=methods, **{"test_vectors": False, **options})
        interpreter = torch.classes.rushlight.Interpreter(path)
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return wrap(interpreter, _defaults(model))


def wrap(interpreter, defaults=None):
    """The nn.Module around an Interpreter (of a file that was exported before). `defaults` are those of
    inputs that may be left out: {method: {input: value}}."""
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


def _let_python_raise():
    """What waits to be raised in this thread is raised where a function begins."""


class Lowered(torch.nn.Module):
    """The class of what lower() returns. It has the methods that were lowered, with the model's own signatures.

    Attributes:
        interpreter: the torch.classes.rushlight.Interpreter, made of a path or of a uint8 tensor with a file's bytes. It
            has `forward(Tensor[]) -> Tensor[]`, `call(str method, Any[] args) -> Any`, `methods() -> str[]`, `reset()`, which gives the
            attributes the values of the file back, and `describe() -> str`, which says what the file is. Threads may
            share it: each run takes a session of a pool.
    """

    def __reduce__(self):
        return _rebuild, (self._spec,), self.__dict__

    def _run(self, method, *args):
        """In Python: the same code, compiled, so that types are those of TorchScript here, too."""
        for a in args:
            if isinstance(a, torch.fx.Proxy):
                return self._leaf(method, args, a.tracer)
        if proxy_tensor.get_proxy_mode() is not None:  # it sees no call here: the result would be a constant of the graph
            raise torch.fx.proxy.TraceError(
                "make_fx and torch.export do not see into a lowered module: trace it with torch.fx.symbolic_trace, where it is "
                "one call, or lower after tracing")
        try:
            return self._compiled(method)(self.interpreter, *args)
        except RuntimeError:
            _let_python_raise()  # KeyboardInterrupt, where that ended it
            raise

    def _leaf(self, method, args, tracer):
        """What torch.fx sees: one call, as of the modules of torch.nn."""
        path = tracer.path_of_module(self)
        if method != "forward" or not path:
            raise torch.fx.proxy.TraceError(
                "torch.fx sees a lowered module as one call of its forward, from a model around it")
        return tracer.create_proxy("call_module", path, args, {})

    @classmethod
    def _compiled(cls, method):
        if method not in cls._functions:
            cls._functions[method] = torch.jit.script(cls._sources[method])
        return cls._functions[method]

    def extra_repr(self):
        return ", ".join(f"{name}({', '.join(f'{i[0]}: {i[1]}' for i in inputs)}) -> {result}"
                         for name, inputs, result, _ in self._spec)


def _defaults(model):
    """{method: {argument: default}} of what has a TorchScript schema."""
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


# ---- The module's code, from types as rushlight.describe gives them

_PLAIN = {"Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool", "str": "str",
          "complex": "complex", "NoneType": "None", "Device": "torch.device"}


def parse_type(text):
    """The annotation for a type's text ("Dict(str, Tensor[])") and the name where it is a named tuple."""
    tokens = re.findall(r"\[\]|[(),?]|[^\s(),?\[\]]+", text)

    def one():
        name = tokens.pop(0) if tokens[0] != "(" else ""
        tuple_name = ""
        if tokens and tokens[0] == "(":
            tokens.pop(0)
            items = []
            while tokens[0] != ")":
                items.append(one()[0])
                if tokens[0] == ",":
                    tokens.pop(0)
            tokens.pop(0)
            if name in ("Dict", "Union", "Future"):
                out = f"{name}[{', '.join(items)}]" if name != "Future" else "Any"
            else:
                tuple_name = name
                out = f"Tuple[{', '.join(items) if items else '()'}]"
        else:
            out = _PLAIN.get(name, "Any")
        while tokens and tokens[0] in ("[]", "?"):
            out = f"List[{out}]" if tokens.pop(0) == "[]" else f"Optional[{out}]"
            tuple_name = ""
        return out, tuple_name

    return one()


def _result(spec, scope):
    """The annotation of a result, and the lines that give it from `result`, which is Any."""
    _, _, text, fields = spec
    annotation, named = parse_type(text)
    if annotation == "Any":
        return annotation, ["return result"]
    if annotation == "None":
        return annotation, ["return None"]
    lines = [f"assert torch.jit.isinstance(result, {annotation})", "return result"]
    if named and named.isidentifier() and all(f.isidentifier() for f in fields):
        items = typing.get_args(eval(annotation, scope))
        if len(items) == len(fields):
            scope[named] = typing.NamedTuple(named, list(zip(fields, items)))
            lines[1] = f"return {named}({', '.join(f'result[{i}]' for i in range(len(fields)))})"
            return named, lines
    return annotation, lines


def _identifiers(inputs):
    return [name if name.isidentifier() and name != "self" and not name.startswith("__") else f"input_{i}"
            for i, (name, *_) in enumerate(inputs)]


def _source(spec, scope):
    """Two functions of a method: `run_M(interpreter, ...)`, and the module's own."""
    method, inputs, *_ = spec
    names = _identifiers(inputs)
    parameters = []
    for name, (_, text, optional, value) in zip(names, inputs):
        annotation = parse_type(text)[0]
        default = f" = {value!r}" if optional and value == value and value not in (float("inf"), -float("inf")) else ""
        parameters.append(f"{name}: {annotation}{default}")
    annotation, lines = _result(spec, scope)
    listed = ", ".join(names)

    def body(interpreter, indent):
        return "".join(f"{indent}{line}\n" for line in [
            f"args: List[Any] = [{listed}]",
            f"result = {interpreter}.call({method!r}, args)", *lines])

    return (
        f"def run_{method}({', '.join(['interpreter: torch.classes.rushlight.Interpreter', *parameters])}) -> {annotation}:\n"
        + body("interpreter", "    ")
        + f"\n\ndef {method}({', '.join(['self', *parameters])}) -> {annotation}:\n"
        + "    if torch.jit.is_scripting():\n" + body("self.interpreter", "        ")
        + f"    else:\n        return self._run({', '.join([repr(method), *names])})\n"
    )


def _rebuild(spec):
    """A module of a class of its own, without its interpreter."""
    load_library()
    scope = {"torch": torch, "Tensor": torch.Tensor, "Any": typing.Any, "Dict": typing.Dict, "List": typing.List,
             "Optional": typing.Optional, "Tuple": typing.Tuple, "Union": typing.Union, "__name__": __name__}
    members = {"_spec": spec, "_functions": {}, "_sources": {}, "__module__": __name__}
    for row in spec:
        name = row[0]
        filename = f"<rushlight lowered {name} {next(_counter)}>"
        text = _source(row, scope)
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)  # TorchScript reads it
        exec(compile(text, filename, "exec"), scope)
        members["_sources"][name] = scope[f"run_{name}"]
        members[name] = scope[name] if name == "forward" else torch.jit.export(scope[name])
    return type("Lowered", (Lowered,), members)()
