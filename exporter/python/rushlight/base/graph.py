"""Builds the graph of a method, node by node, in librushlight_native."""

import weakref

from . import native
from .errors import unsupported
from .types import Type, type_of
from .values import Request, dtype_of, refuse_fake


class Value:
    """A value of a graph.

    Attributes:
        is_none (bool): whether it is the constant None
    """

    __slots__ = ("graph", "number", "is_none", "_type")

    def __init__(self, graph, number, is_none=False, type_=None):
        self.graph, self.number, self.is_none, self._type = graph, number, is_none, type_

    @property
    def type(self):
        if self._type is None:
            self._type = self.graph.type_of(self.number)
        return self._type


class GraphBuilder:
    """A graph that is being made.

    Operands are values, or constants of Python's, in lists or not. Tensors among them become attributes. A type may be its text. The
    library gets many commands at once, so that it may refuse one later.

    Args:
        first (GraphBuilder): the graph of another method of the same program, whose attributes this one shares
    """

    def __init__(self, first=None):
        self._number = native.call("graph.open", first=first and first.number())
        self._close = weakref.finalize(self, native.call, "graph.close", self._number)
        self._close.atexit = False
        self._request = Request()  # keeps the memory of tensors alive
        self._commands = []  # which the library does not have yet
        self._count = 0  # of values
        self.source = self._sent = None

    def number(self):
        """Returns the number of the finished graph in the library."""
        self._flush()
        return self._number

    # -- the program

    def input(self, type_, name):
        """Adds a parameter of the method, and returns its value."""
        type_ = Type(type_)
        return self._values("input", [type_.described, name], [type_])[0]

    def constant(self, value):
        return self._constant(["constant", self._operand(value)], value is None, None)

    def tree(self, tree, type=None):
        """Returns a constant of a tree: ("none",), ("int", 3), ("float", 0.5), ("bool", True), ("complex", 1.0, 2.0), ("str", "text"),
        ("device", "cpu"), ("tensor", tensor, name), and (kind, type, [trees]) for "list", "tuple", "dict", "object" and "enum"."""
        type = type and Type(type)
        return self._constant(["typed_constant", described(tree, self._request), type and type.described], tree[0] == "none", type)

    def attribute(self, name, tensor):
        """Returns the value of a new attribute. It is state until a pass finds that nothing writes it."""
        refuse_fake(tensor)
        return self._values("attribute", [name, self._request.value(tensor)], ["Tensor"])[0]

    def known_attribute(self, name):
        """Returns the value of an attribute that this graph, or another one of its program, has."""
        return self._values("known_attribute", [name], ["Tensor"])[0]

    def set_result(self, value):
        self._add("set_result", value.number)

    def write_back(self, written, value):
        """Assigns the elements of `value` to an attribute or an input when the method ends."""
        self._add("write_back", written.number, value.number)

    def type_of(self, number):
        self._flush()
        return type_of(native.call("graph.type", graph=self._number, value=number))

    # -- nodes: `source` is that of the next ones, (file, line, function, module), with or without a debug handle, or None

    def node(self, op, args, types=None, name=""):
        """Adds a node. The arguments have the order of the schema, and are cast to its types. If `types` is None, the schema also gives
        the types of the results. Here and below, `name` is one name for all results, or a list with a name for each.

        Returns:
            Value: its result, or a list if it has another number of results

        Raises:
            RushlightError: an argument cannot be exported, or the operator has no schema
        """
        self._place()
        values = self._values("node", [op, list(map(self._operand, args)), _described(types), name], types)
        return values[0] if len(values) == 1 else values

    def begin(self, op, args):
        """Begins a node with blocks: block and leave follow for each, then end."""
        self._place()
        self._add("begin", op, list(map(self._operand, args)))

    def block(self, types=(), name=""):
        """Begins a block. Returns its parameters."""
        return self._values("block", [_described(types), name], types)

    def leave(self, results):
        """Ends a block, which gives these values."""
        self._place()
        self._add("leave", list(map(self._operand, results)))

    def end(self, types, name):
        """Ends a node with blocks. Returns its results."""
        return self._values("end", [_described(types), name], types)

    def mark(self, results, handle):
        """Assigns a debug handle to the one node with these results, if it has none yet."""
        if results and all(isinstance(result, Value) for result in results):
            self._add("mark", [result.number for result in results], _signed(handle))

    # -- commands

    def _add(self, *command):
        self._commands.append(command)
        if len(self._commands) >= _MOST:
            self._flush()

    def _flush(self):
        """Sends the commands. Returns the numbers of the last one's values."""
        commands, self._commands = self._commands, []
        return native.call("graph.build", graph=self._number, commands=commands) if commands else []

    def _constant(self, command, is_none, type_):
        self._add(*command)
        self._count += 1
        return Value(self, self._count - 1, is_none, type_)

    def _values(self, command, arguments, types):
        """Adds a command. Returns its values, which have these types. Without types, the library is asked for their number."""
        if types is None:
            self._commands.append((command, *arguments))
            numbers = self._flush()
            self._count = numbers[-1] + 1 if numbers else self._count
            return [Value(self, number) for number in numbers]
        self._add(command, *arguments)
        first, self._count = self._count, self._count + len(types)
        return [Value(self, first + i, type_=Type(type_)) for i, type_ in enumerate(types)]

    def _place(self):
        """Sends the source of the next nodes."""
        if self.source != self._sent:
            self._sent = source = self.source
            self._add("source", *(() if source is None else (*source[:4], _signed(source[4]) if len(source) > 4 else 0)))

    def _operand(self, value):
        if isinstance(value, Value):
            return {"value": value.number}
        if isinstance(value, (list, range)):
            return list(map(self._operand, value))
        if isinstance(value, tuple):
            return {"tuple": list(map(self._operand, value))}
        dtype = dtype_of(value)
        if dtype:
            return {"dtype": dtype}
        refuse_fake(value)
        try:
            return self._request.value(value)
        except TypeError:
            raise unsupported(f"a constant of type {type(value).__name__} cannot be exported") from None


_MOST = 4096  # commands in one request


def _described(types):
    return None if types is None else [Type(type_).described for type_ in types]


def _signed(handle):
    return handle - (1 << 64) if handle >= 1 << 63 else handle


def described(tree, request):
    """Returns a tree as librushlight_native takes it. `request` keeps the memory of its tensors alive."""
    kind, *rest = tree
    if kind == "tensor":
        refuse_fake(rest[0])
        return {**request.value(rest[0]), "name": rest[1]}
    if kind == "complex":
        return {"complex": rest}
    if kind == "device":
        return {"device": rest[0]}
    if kind == "none":
        return None
    if kind in _CONTAINERS:
        return {kind: [described(item, request) for item in rest[1]], "type": rest[0].described}
    return _SCALARS[kind](rest[0])


_CONTAINERS = {"list", "tuple", "dict", "object", "enum"}
_SCALARS = {"int": int, "float": float, "bool": bool, "str": str}
