"""What is exported of TorchScript: the methods of a module, or a function, as callers see them."""

import dataclasses
import itertools

import torch

from . import copies, trace
from .boundary_objects import becomes_tuple, boundary_type, form_of, with_tuples
from .hooks import run_hooks
from .types import exported
from .values import as_tuples, cast


@dataclasses.dataclass
class Argument:
    name: str
    type: object
    repeat: object  # the length of a list that one number fills; None if there is none
    has_default: bool
    default: object


class Method:
    """A method, or the function."""

    def __init__(self, function, module):
        self.function, self.module = function, module
        schema = function.schema
        self.inner = [_argument(a) for a in schema.arguments]
        self.inner_result = schema.returns[0].type
        self.has_hooks = module is not None and function.name == "forward" and bool(
            module._get_forward_hooks() or module._get_forward_pre_hooks())
        if self.has_hooks:
            self.inner_result = next(self._hooked().outputs()).type()
        self.is_plain = not becomes_tuple(self.inner_result) and all(form_of(a) != "tuple" for a in self.inner)
        self.arguments = [_outside(a) for a in self.inner][0 if module is None else 1:]
        self.result = boundary_type(self.inner_result) if becomes_tuple(self.inner_result) else self.inner_result

    def _hooked(self):
        graph = self.function.graph.copy()
        run_hooks(graph, self.module)
        return graph

    def graph(self):
        """A copy of its graph, with hooks and with tuples for the program's own classes."""
        graph = self._hooked() if self.has_hooks else self.function.graph.copy()
        if self.is_plain:
            return graph
        torch._C._jit_pass_inline(graph)
        return with_tuples(graph, self.inner, self.inner_result)


def _argument(a):
    has_default = a.has_default_value()
    return Argument(a.name, a.type, a.N, has_default, a.default_value if has_default else None)


def _outside(argument):
    if form_of(argument) != "tuple":
        return argument
    default = argument.default
    if argument.has_default and default is not None:
        if argument.type.kind() != "EnumType":
            return Argument(argument.name, boundary_type(argument.type), argument.repeat, False, None)
        default = (default.name, default.value)
    return Argument(argument.name, boundary_type(argument.type), argument.repeat, argument.has_default, default)


class Subject:
    """A module or a function.

    Args:
        target: a ScriptModule or a ScriptFunction of torch.jit
        train: keep the training mode
        args: example inputs, which choose between overloads of forward
    """

    def __init__(self, target, train=False, args=()):
        self.train = train
        self.module = None if isinstance(target, torch.jit.ScriptFunction) else target._c
        self.known = {}
        self.function = target if self.module is None else None
        self.overload = None if self.module is None else _overload(self.module, args)

    def method(self, name):
        """Raises ValueError if the model has no such method."""
        if name not in self.known:
            self.known[name] = Method(self._function(name), self.module)
        return self.known[name]

    def _function(self, name):
        if self.module is None:
            return self.function
        own = self.overload if name == "forward" and self.overload else name
        if not self.module._has_method(own):
            names = self.module._method_names()
            more = ": name one of these, or wrap it in a module that calls it" if f"{name}__0" in names else ""
            raise ValueError(f"the model has no method '{name}'; it has {', '.join(names) or 'none'}{more}")
        return self.module._get_method(own)

    def checked(self, name, args):
        """The arguments as PyTorch casts them. Raises what PyTorch says of a wrong one."""
        arguments = self.method(name).arguments
        return [*(cast(value, a) for value, a in zip(args, arguments)), *args[len(arguments):]]

    def types(self, name):
        return [exported(a.type) for a in self.method(name).arguments]

    def example(self, example):
        """An example of export() as PyTorch casts it."""
        name = example["method"]
        out = {**example, "args": tuple(self.checked(name, example["args"]))}
        if "expected" in example:
            out["expected"] = cast(example["expected"], Argument("", self.method(name).result, None, False, None))
        return out

    def graph_answer(self, name, args, exact):
        return trace.answer(self, name, args, exact)

    def trace(self, name, args, exact):
        return trace.trace(self, name, args, exact)

    def call(self, name, args, exact=False):
        """(graph, inputs) of a run from the model's state, in float64 if `exact`."""
        method = self.method(name)
        args = copies.in_double(tuple(args)) if exact else copies.of_values(tuple(args))
        rest = method.arguments[len(args):]
        for argument in rest:
            if not argument.has_default:
                raise ValueError(f"the argument '{argument.name}' is missing")
        inputs = [*args, *(argument.default for argument in rest)]
        if self.module is None:
            return method.graph(), inputs
        module = copies.deep(self.module, exact)
        if not self.train:
            copies.evaluate(module)
        return method.graph(), [module, *inputs]

    def result(self, name, value):
        """A result with tuples in place of objects."""
        return as_tuples(value, self.method(name).result)

    def answer(self, name, args):
        """PyTorch's answer from the model's state."""
        method = self.method(name)
        if self.function is not None and method.is_plain:
            return self.function(*copies.of_values(tuple(args)))
        if not method.is_plain or method.has_hooks:
            graph, inputs = self.call(name, args)
            return torch._C._create_function_from_graph(name, graph)(*inputs)
        module = copies.deep(self.module)
        if not self.train:
            copies.evaluate(module)
        return module._get_method(method.function.name)(*copies.of_values(tuple(args)))


def _overload(module, args):
    """TorchScript names the overloads of forward forward__0, forward__1, .... The first that fits these arguments, or None."""
    if module._has_method("forward"):
        return None
    for i in itertools.count():
        name = f"forward__{i}"
        if not module._has_method(name):
            return None
        if _fits(module._get_method(name).schema, args):
            return name


def _fits(schema, args):
    arguments = [_argument(a) for a in schema.arguments[1:]]
    if len(args) > len(arguments):
        return False
    try:
        for value, argument in zip(args, arguments):
            cast(value, argument)
    except Exception:  # PyTorch raises several
        return False
    return True
