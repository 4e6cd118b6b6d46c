"""torch.fx's graphs: typed by their example inputs, then scripted, or traced where that is refused."""

import copy
import operator
import re
import typing

import torch
import torch.fx

from .errors import unsupported
from .exported.control import is_higher_order
from .exported.sources import user_frame
from .exported.trace import name_of


def annotation_of(value):
    """The type of a value, as TorchScript wants it; None where it has none."""
    if value is None:
        return typing.Optional[torch.Tensor]
    if isinstance(value, torch.Tensor):
        return torch.Tensor
    if isinstance(value, (bool, int, float, str, complex)):
        return type(value)
    if isinstance(value, tuple):
        items = [annotation_of(v) for v in value]
        return None if None in items or not items else typing.Tuple[tuple(items)]
    if isinstance(value, list):
        items = {annotation_of(v) for v in value} or {torch.Tensor}
        return typing.List[items.pop()] if len(items) == 1 and None not in items else None
    if isinstance(value, dict):
        keys, items = {annotation_of(k) for k in value}, {annotation_of(v) for v in value.values()}
        if len(keys) == len(items) == 1 and None not in keys | items:
            return typing.Dict[keys.pop(), items.pop()]
    return None


def typed(module, example_inputs):
    """The same graph over the same weights, with a type at each placeholder that had none."""
    graph = copy.deepcopy(module.graph)
    at = 0
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        # `concrete_args` leaves a placeholder that takes what it was traced with, and no type:
        # TorchScript would make it a tensor.
        if at < len(example_inputs or ()):
            value = example_inputs[at]
        elif node.args:
            value = node.args[0]
        else:
            value = NotImplemented
        at += 1
        if node.type is None and value is not NotImplemented and not str(node.target).startswith("*"):
            node.type = annotation_of(value)
            if node.args == (None,) and node.type is torch.Tensor:
                node.args = ()  # TorchScript would have a tensor's default be None
    in_torchs_words(graph)
    out = torch.fx.GraphModule(module, graph)
    out.training = module.training
    return out


#: What make_fx writes of sizes, and TorchScript's word for it.
_OF_NUMBERS = {torch.sym_float: float, torch.sym_int: int, torch.sym_max: max, torch.sym_min: min, torch.sym_not: operator.not_}


def in_torchs_words(graph):
    """Overloads, as make_fx and torch.export write them, as what TorchScript has a word for: it chooses the overload. A
    size stays one that it sees, and tracing too."""
    for node in graph.nodes:
        if node.op == "call_function":
            node.target = _OF_NUMBERS.get(node.target, node.target)
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if node.target in (torch.ops.aten.sym_size.int, torch.ops.aten.sym_stride.int):
            node.op, node.target = "call_method", "size" if node.target is torch.ops.aten.sym_size.int else "stride"
        else:
            node.target = node.target.overloadpacket


def lines_of(module):
    """{file: {line: (file, line, function)}} for the generated code: where the user wrote each node."""
    frames = {n.name: user_frame(n.stack_trace) for n in module.graph.nodes if n.stack_trace}
    out = {}
    for number, line in enumerate(module.code.split("\n"), 1):
        name = re.match(r"\s+(\w+)(?: : [^=]+)? = ", line)
        returned = re.match(r"\s+return ", line)
        frame = frames.get(name[1]) if name else frames.get("output") if returned else None
        if frame:
            out[number] = frame
    return {type(module).forward.__code__.co_filename: out} if out else {}


def refuse_higher_order(module):
    """TorchScript has no graphs inside of calls."""
    for node in module.graph.nodes:
        if is_higher_order(node.target):
            frame = user_frame(node.stack_trace)
            where = f"{frame[0]}:{frame[1]}: " if frame else ""
            raise unsupported(f"{where}the higher-order operator {name_of(node.target)} of an FX graph cannot be exported: "
                              "export torch.export.export(model, example_inputs), which can have it")


def scripted_or_traced(module, example_inputs, trace):
    """(what to export, how it came in, the tracer's warnings, lines_of)."""
    refuse_higher_order(module)
    module = typed(module, example_inputs)
    lines = lines_of(module)
    try:
        return torch.jit.script(module), "FX graph, scripted", [], lines
    except Exception as error:  # TorchScript's refusals are of many types
        refusal = " ".join(s.strip() for s in str(error).strip().splitlines()[:3] if s.strip(" :"))
        if example_inputs is None:
            raise ValueError(f"example_inputs are needed to trace this FX graph, which cannot be scripted: {refusal}") from error
    target, seen = trace(module)
    return target, f"FX graph, traced because scripting refused it: {refusal}", seen, lines
