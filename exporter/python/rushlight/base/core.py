"""The functions of librushlight_native that the fronts call."""

import functools

from . import native
from .graph import GraphBuilder, Value, described
from .types import Type
from .values import Request, number_of

__all__ = ["GraphBuilder", "Type", "Value", "description_of", "diff_file", "diff_graph", "export_graph", "forget_custom_schemas",
           "has_op", "is_torchs_own", "op_schema", "port_of", "stored_path", "unique_names"]


def export_graph(description, settings, examples, answers):
    """Exports a program to a file, and verifies the file. Returns the fields of rushlight.Report.

    Args:
        description (dict): as in description_of
        settings (dict): see request.py
        examples (list of dict): see request.py
        answers (dict): as front.answers.answers_of gives them
    """
    request = Request()
    arguments = {"description": description_of(description, request), "settings": _settings(settings, request),
                 "examples": [_example(example, request) for example in examples]}
    with native.with_answers(answers):
        out = native.call("export", **arguments)
    return dict(out["fields"], text=out["text"])


def diff_graph(path, method, args, types, tracing, rtol, atol):
    """Compares a run of a file with PyTorch's values. `types`: the types of the arguments, or None. `tracing`: answers "trace"."""
    request = Request()
    arguments = {"path": path, "method": method, "args": [request.value(arg) for arg in args], "rtol": rtol, "atol": atol,
                 "types": None if types is None else [type_.described for type_ in types]}
    with native.with_answers({"trace": tracing}):
        return native.call("diff", **arguments)


def diff_file(path):
    """Compares a run of a file with the trace in it."""
    return native.call("diff_file", path=path)


def description_of(program, request):
    """Returns a program as librushlight_native takes it.

    Args:
        program: {"methods": [{"name", "graph": GraphBuilder, "inputs": [port], "outputs": [port]}], "texts": [(module, kind, text)],
            "meta": [(key, value)], "attributes": [(name, type, tree)]}. Without attributes, they are those of the graphs. A port is
            {"name", "type" of an output, "initial": its default, or "default": the tree of that, "dtype" and "sizes" if they are known}
        request (Request): keeps the graphs and the memory of tensors alive
    """
    request.lasts = True
    for method in program["methods"]:
        request.keep(method["graph"])
    methods = [{"name": method["name"], "graph": method["graph"].number(), "inputs": [port_of(port, request) for port in method["inputs"]],
                "outputs": [port_of(port, request) for port in method["outputs"]]} for method in program["methods"]]
    out = {"methods": methods, "texts": program["texts"], "meta": program["meta"]}
    if "attributes" in program:
        out["attributes"] = [[name, type_.described, described(tree, request)] for name, type_, tree in program["attributes"]]
    return out


def port_of(port, request):
    """Returns a port of description_of(), as above."""
    request.lasts = True
    out = {"name": port["name"]}
    if "type" in port:
        out["type"] = Type(port["type"]).described
    if "initial" in port:
        out["initial"] = request.value(port["initial"])
    if "default" in port:
        out["initial"] = described(port["default"], request)
    if "dtype" in port:
        out.update(dtype=number_of(port["dtype"]), sizes=port["sizes"])
    return out


_UNSENT = "methods", "train", "source", "lines"  # which only the fronts read


def _settings(settings, request):
    out = {name: value for name, value in settings.items() if name not in _UNSENT}
    out["calibration"] = [[request.value(arg) for arg in args] for args in settings["calibration"]]
    out["assets"] = [[name, *request.memory(data)] for name, data in settings["assets"]]
    out["decompositions"] = {op: description_of(program, request) for op, program in settings["decompositions"].items()}
    return out


def _example(example, request):
    out = dict(example, args=[request.value(arg) for arg in example["args"]])
    if "expected" in example:
        out["expected"] = request.value(example["expected"])
    return out


def unique_names(names):
    """Makes names unique: later ones get a number, as in x, x_1, x_2."""
    return native.call("unique_names", list(names))


def stored_path(path):
    """Returns the path as files store it: relative to the working folder, or below a package's folder."""
    return native.call("stored_path", path=path)


@functools.lru_cache(4096)
def is_torchs_own(path):
    """Returns whether a Python file belongs to PyTorch."""
    return native.call("is_torchs_own", path=path)


@functools.cache
def has_op(name):
    """Returns whether the runtime has an operator."""
    return native.call("has_op", name=name)


def op_schema(name):
    """Returns the schema of an operator of the runtime alone, such as "rush::conv", or "" if there is none."""
    return native.call("op_schema", name)


def forget_custom_schemas():
    """Forgets the schemas of custom operators, because operators may have been registered since they were looked up."""
    native.call("forget_custom_schemas")
