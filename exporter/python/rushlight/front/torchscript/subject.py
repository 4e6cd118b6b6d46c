"""The exported methods of a ScriptModule, or a function, as callers see them."""

import dataclasses
import functools
import itertools

import torch

from . import copies, trace
from .attribute_reads import only_read
from .boundary_objects import becomes_tuple, boundary_type, form_of, with_tuples
from .forks import inline_calls_and_forks
from .hooks import run_hooks
from .named_outputs import give_fields, gives_fields
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

    def __init__(self, function, module, is_traced=False):
        self.function, self.module = function, module
        schema = function.schema
        self.inner = [_argument(a) for a in schema.arguments]
        self.inner_result = schema.returns[0].type
        self.has_hooks = module is not None and function.name == "forward" and bool(
            module._get_forward_hooks() or module._get_forward_pre_hooks())
        self.has_fields = is_traced and gives_fields(function.graph) and not self.has_hooks
        if self.has_hooks or self.has_fields:
            self.inner_result = next(self._own_graph().outputs()).type()
        self.is_plain = not becomes_tuple(self.inner_result) and all(form_of(a) != "tuple" for a in self.inner)
        self.arguments = [_outside(a) for a in self.inner][0 if module is None else 1:]
        self.result = boundary_type(self.inner_result) if becomes_tuple(self.inner_result) else self.inner_result

    def _own_graph(self):
        graph = self.function.graph.copy()
        if self.has_hooks:
            run_hooks(graph, self.module)
        if self.has_fields:
            give_fields(graph)
        return graph

    @functools.cached_property
    def uncopied(self):
        """Ids of the large tensors of the module that a run need not copy."""
        graph = self.graph()
        inline_calls_and_forks(graph)
        return frozenset(only_read(self.module, graph))

    def graph(self):
        """Returns a copy of its graph, with hooks, and with tuples for the program's own classes and for a traced dict."""
        graph = self._own_graph()
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
        methods: {name: that of the target}, where they differ
        is_traced: whether the keys of a dict that it returns are constants
    """

    def __init__(self, target, train=False, args=(), methods=None, is_traced=False):
        self.train, self.methods, self.is_traced = train, methods or {}, is_traced
        self.module = None if isinstance(target, torch.jit.ScriptFunction) else target._c
        self.known = {}
        self.function = target if self.module is None else None
        self.overload = None if self.module is None else _overload(self.module, args)

    def method(self, name):
        """Raises ValueError if the model has no such method."""
        if name not in self.known:
            self.known[name] = Method(self._function(name), self.module, self.is_traced)
        return self.known[name]

    def _function(self, name):
        if self.module is None:
            return self.function
        own = self.overload if name == "forward" and self.overload else self.methods.get(name, name)
        if not self.module._has_method(own):
            names = list(self.methods) or self.module._method_names()
            more = ": name one of these, or wrap it in a module that calls it" if f"{name}__0" in names else ""
            raise ValueError(f"the model has no method '{name}'; it has {', '.join(names) or 'none'}{more}")
        return self.module._get_method(own)

    def checked(self, name, args):
        """Returns the arguments as PyTorch casts them. Raises PyTorch's exception for a wrong one."""
        arguments = self.method(name).arguments
        return [*(cast(value, a) for value, a in zip(args, arguments)), *args[len(arguments):]]

    def types(self, name):
        return [exported(a.type) for a in self.method(name).arguments]

    def example(self, example):
        """Returns an example of export() as PyTorch casts it."""
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
        """Returns (graph, inputs, narrow) of a run from the model's state, in float64 if `exact`. The results of the nodes `narrow`
        keep their dtype."""
        method = self.method(name)
        args = copies.in_double(tuple(args)) if exact else copies.of_values(tuple(args))
        rest = method.arguments[len(args):]
        for argument in rest:
            if not argument.has_default:
                raise ValueError(f"the argument '{argument.name}' is missing")
        inputs = [*args, *(argument.default for argument in rest)]
        graph = method.graph()
        inline_calls_and_forks(graph)
        if self.module is None:
            return graph, inputs, []
        kept = only_read(self.module, graph)
        module = copies.deep(self.module, exact, kept)
        if not self.train:
            copies.evaluate(module)
        return graph, [module, *inputs], [node for nodes in kept.values() for node in nodes]

    def result(self, name, value):
        """Returns a result with tuples in place of objects."""
        return as_tuples(value, self.method(name).result)

    def answer(self, name, args):
        """PyTorch's answer from the model's state."""
        method = self.method(name)
        if self.function is not None and method.is_plain:
            return self.function(*copies.of_values(tuple(args)))
        if not method.is_plain or method.has_hooks:
            graph, inputs, _ = self.call(name, args)
            return torch._C._create_function_from_graph(name, graph)(*inputs)
        module = copies.deep(self.module, kept=method.uncopied)
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
