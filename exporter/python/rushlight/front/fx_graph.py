"""Prepares the graph of a torch.fx.GraphModule for TorchScript."""

import copy
import operator
import re
import typing

import torch
import torch.fx

from ..base.errors import unsupported
from ..exported_program.higher_order import is_higher_order, name_of
from ..exported_program.source_lines import user_frame


def annotation_of(value):
    """Returns the TorchScript annotation of a value; None if TorchScript has no type for it."""
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
    """Returns a GraphModule with the same graph and weights, in which every placeholder has a type."""
    graph = copy.deepcopy(module.graph)
    at = 0
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        # symbolic_trace(concrete_args=...) leaves a placeholder with a default and without a type. TorchScript would
        # make it a tensor.
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
                node.args = ()  # TorchScript refuses None as the default of a tensor
    _use_script_operators(graph)
    out = torch.fx.GraphModule(module, graph)
    out.training = module.training
    return out


# Functions on sizes in graphs of make_fx, and their replacements in TorchScript.
_SIZE_FUNCTIONS = {torch.sym_float: float, torch.sym_int: int, torch.sym_max: max, torch.sym_min: min, torch.sym_not: operator.not_}


def _use_script_operators(graph):
    """Replaces overloads, as make_fx and torch.export write them, by names from which TorchScript chooses the overload. Sizes become
    methods, which keep them dynamic in TorchScript and in a trace."""
    for node in graph.nodes:
        if node.op == "call_function":
            node.target = _SIZE_FUNCTIONS.get(node.target, node.target)
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        if node.target in (torch.ops.aten.sym_size.int, torch.ops.aten.sym_stride.int):
            node.op, node.target = "call_method", "size" if node.target is torch.ops.aten.sym_size.int else "stride"
        else:
            node.target = node.target.overloadpacket


def lines_of(module):
    """Returns {generated file: {line: (file, line, function)}}: the place where the user wrote each node of the generated code."""
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
    """Raises RushlightError if an operator of the graph takes graphs as arguments. TorchScript has none."""
    for node in module.graph.nodes:
        if is_higher_order(node.target):
            frame = user_frame(node.stack_trace)
            where = f"{frame[0]}:{frame[1]}: " if frame else ""
            raise unsupported(f"{where}cannot export the higher-order operator {name_of(node.target)} of an FX graph: "
                              "export torch.export.export(model, example_inputs), which supports it")
