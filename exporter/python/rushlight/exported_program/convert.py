"""Converts FX graphs of ATen operators to nodes of the exporter's graph."""

import contextlib
import operator

import torch
import torch.fx

from ..base import core
from ..base.errors import unsupported
from . import arithmetic
from .control import Control, choose
from .higher_order import is_higher_order
from .source_lines import source_of
from .interpreter import handles_of
from .containers import plain_type

# Functions that set a mode of PyTorch's and compute nothing.
MODES = {"_set_grad_enabled", "_enter_autocast", "_exit_autocast"}
# Operators that give the number in a tensor, and the operator that gives it its type.
ITEMS = {"aten::item", "aten::_local_scalar_dense"}
AS_NUMBER = {"int": "aten::Int.Scalar", "float": "aten::Float.Scalar"}


class Converter:
    """Converts the nodes of FX graphs in order. `env` has the value of each node, a list of values, or None for no value.

    Args:
        for_complex: operator -> the operator for a complex weight
        attribute: (name, tensor) -> the value of a tensor that the graph stores
    """

    def __init__(self, builder, module, with_source, for_complex, attribute):
        self.attribute = attribute
        self.b, self.handles, self.with_source, self.for_complex = builder, handles_of(module), with_source, for_complex
        self.control = Control(self)

    # -- arguments

    def operand(self, a, env):
        """Returns an argument of an operator. Constants stay Python numbers, so that the schema of the operator can cast them."""
        if isinstance(a, torch.fx.Node):
            return env[a]
        if isinstance(a, (list, tuple)):
            return [self.operand(x, env) for x in a]
        return a

    def value(self, a, env):
        """Returns an argument of a Python function as a value, or a list of values."""
        if isinstance(a, torch.fx.Node):
            return env[a]
        if isinstance(a, (list, tuple)):
            return [self.value(x, env) for x in a]
        if isinstance(a, torch.Tensor):
            return self.b.attribute("", a)
        return self.b.constant(a)

    # -- graphs

    def run(self, module, env):
        """Converts all nodes of module.graph. Returns its result with its nesting."""
        for node in module.graph.nodes:
            if node.op == "output":
                return self.value(node.args[0], env)
            if node.op == "get_attr":
                self.get_attr(module, node, env)
            elif node.op == "call_function":
                with self.at(node):
                    env[node] = self.call(module, node, env)
                    self.b.mark(env[node] if isinstance(env[node], list) else [env[node]], self.handles[node])
            elif node.op != "placeholder":
                self.refuse(node, f"the node {node.op} of {node.target}")
        raise unsupported("cannot export a graph without an output")

    def block(self, module, arguments):
        """Converts a graph inside this one, with these values for its placeholders. Returns a flat list of results."""
        holders = [n for n in module.graph.nodes if n.op == "placeholder"]
        out = self.run(module, dict(zip(holders, arguments, strict=True)))
        return list(out) if isinstance(out, list) else [out]

    @contextlib.contextmanager
    def at(self, node):
        """Nodes that are added meanwhile have the source line of `node`."""
        before = self.b.source
        self.b.source = source_of(node) if self.with_source else None
        yield
        self.b.source = before

    def get_attr(self, module, node, env):
        what = operator.attrgetter(node.target)(module)
        if isinstance(what, torch.Tensor):
            env[node] = self.attribute(node.target, what)
        elif not isinstance(what, torch.nn.Module):
            self.refuse(node, f"an attribute of type {type(what).__name__}")

    def refuse(self, node, what):
        source = source_of(node)
        raise unsupported((f"{source[0]}:{source[1]}: " if source else "") + f"cannot export {what}")

    # -- nodes

    def call(self, module, node, env):
        target = node.target
        if is_higher_order(target):
            return self.control.call(module, node, env)
        if isinstance(target, torch._ops.OpOverload):
            return self.overload(node, target, env)
        if target is operator.getitem:
            return self.getitem(node, env)
        if getattr(target, "__name__", "") in MODES:
            return None
        args = [self.value(a, env) for a in node.args]
        if target is torch.sym_ite:
            return choose(self.b, args[0], [lambda: [args[1]], lambda: [args[2]]], node.name)[0]
        out = arithmetic.number(self.b, target, args, node.name) if all(isinstance(a, core.Value) for a in args) else None
        if out is None:
            name = getattr(target, "__name__", str(target))
            self.refuse(node, f"the function {getattr(target, '__module__', '')}.{name}")
        return out

    def getitem(self, node, env):
        container, index = env[node.args[0]], node.args[1]
        if isinstance(container, list):
            return container[index]
        if str(container.type).endswith("[]"):
            return self.b.node("aten::__getitem__.t", [container, index], container.type.items, node.name)
        return self.refuse(node, f"getitem of {container.type}")

    def overload(self, node, target, env):
        op = target.name()
        if target.namespace == "prims":
            self.refuse(node, f"the operator {op}: decompose the program to ATen operators alone")
        args = [self.operand(a, env) for a in arguments(node, target._schema)]
        if op in ITEMS and "val" in node.meta:
            return self.item(args[0], node)
        return self.b.node(self.for_complex(op) if has_complex_weight(node) else op, args, name=node.name)

    def item(self, tensor, node):
        kind = str(plain_type(node.meta["val"]))
        if kind == "bool":
            return self.b.node("aten::Bool.Tensor", [tensor], name=node.name)
        out = self.b.node("aten::item", [tensor], name=node.name)
        return self.b.node(AS_NUMBER[kind], [out], name=node.name) if kind in AS_NUMBER else out


def has_complex_weight(node):
    """Returns whether the second operand is known to be a complex tensor."""
    weight = node.args[1] if len(node.args) > 1 else None
    value = weight.meta.get("val") if isinstance(weight, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.is_complex()


def arguments(node, schema):
    """Returns the arguments of a call in the order of the schema, with its defaults."""
    for i, argument in enumerate(schema.arguments):
        if i < len(node.args):
            yield node.args[i]
        else:
            yield node.kwargs.get(argument.name, argument.default_value)
