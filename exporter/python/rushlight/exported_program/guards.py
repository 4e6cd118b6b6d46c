"""Constraints on inputs. PyTorch refuses inputs with other sizes, ranks and constants than the program's, and so does the file."""

import torch


def limit(value):
    """Returns a maximum size as constraints store it; None if there is none."""
    return int(value) if getattr(value, "is_Integer", isinstance(value, int)) and abs(value) < 2**62 else None


def refuse_unless(builder, ok, message, *shown):
    """Adds nodes that raise an exception if `ok` is false. Each {} of the message is replaced by one of `shown`."""
    builder.begin("prim::If", [ok])
    builder.block()
    builder.leave([])
    builder.block()
    text = builder.node("aten::format", [message, *shown]) if shown else message
    builder.node("prim::RaiseException", [text, None], [])
    builder.leave([])
    builder.end([], "")


def refuse_other_number(builder, value, number, message):
    """Adds nodes that raise an exception if the int `value` is not `number`. The message shows the value."""
    refuse_unless(builder, builder.node("aten::eq.int", [value, number]), message, value)


def check_constant(builder, name, value, constant):
    """Adds a check that an input other than a tensor has the value that torch.export built into the program."""
    compared, wanted = value, constant
    if isinstance(constant, bool):
        compared, wanted = builder.node("aten::Int.bool", [value]), int(constant)
    op = {int: "aten::eq.int", float: "aten::eq.float", str: "aten::eq.str"}.get(type(wanted))
    if op is not None:
        ok = builder.node(op, [compared, wanted])
        refuse_unless(builder, ok, f"the input {name} must be {constant}, as at export, got {{}}", value)


class Sizes:
    """The sizes that a program accepts: constraints for tensors that are inputs, checks for tensors inside an input.

    `limits` are the range constraints of the program, by symbol. `varying` is the result of varying().
    """

    def __init__(self, builder, limits, varying):
        self.b, self.limits, self.varying = builder, limits, varying
        self.seen = {}  # {symbolic size: (what it is, its tensor, its dimension)}

    def emit(self, op, *args):
        return self.b.node(op, list(args))

    def refuse_unless(self, op, a, b, message, *shown):
        refuse_unless(self.b, self.emit(op, a, b), message, *shown)

    def constraint(self, name, value, example):
        """Returns the constraints on the sizes of an input, in the form of front/dynamic_shapes.py. Adds a check of its rank.

        `example` is the input at the export, with sizes that may be symbolic.
        """
        refuse_other_number(self.b, self.emit("aten::dim", value), example.dim(),
                            f"the input {name} must have {example.dim()} dimensions, as at export, got {{}}")
        out = []
        for d, n in enumerate(example.shape):
            fixed = fixed_size(n)
            if fixed is not None:
                out.append((d, "", fixed, fixed, False, None, None))
                continue
            symbol = n.node.expr
            self.seen.setdefault(symbol, (f'size {d} of input "{name}"', value, d))
            low, high = self.range_of(symbol)
            root, factor = root_of(symbol) or (symbol, 1)
            multiple = (str(root), factor, True) if factor != 1 else None
            out.append((d, str(symbol), low or 0, high, symbol in self.varying, None, multiple))
        return out

    def check(self, name, value, example):
        """Adds checks of a tensor inside an input. They come after all constraints."""
        sizes = [fixed_size(n) for n in example.shape]
        wanted = ", ".join("?" if n is None else str(n) for n in sizes)
        message = f"the input {name} must have sizes [{wanted}], as at export, got {{}}"
        shape = self.emit("aten::size", value)
        if None not in sizes:
            self.refuse_unless("aten::eq.int_list", shape, sizes, message, shape)
            return
        refuse_unless(self.b, self.emit("aten::eq.int", self.emit("aten::len.t", shape), len(sizes)), message, shape)
        for d, n in enumerate(example.shape):
            size, what = self.emit("aten::size.int", value, d), f'size {d} of input "{name}"'
            if sizes[d] is not None:
                refuse_other_number(self.b, size, sizes[d], f"{what} must be {sizes[d]}, as at export, got {{}}")
            elif n.node.expr in self.seen:
                other, first = self.value_of(n.node.expr)
                self.refuse_unless("aten::eq.int", size, first, f"{what} is {{}} and {other} is {{}}: they must be equal", size, first)
            else:
                self.seen[n.node.expr] = what, value, d
                self.check_range(n.node.expr, size, what)

    def value_of(self, symbol):
        """Returns (description, value) of a size for which `seen` has an entry."""
        what, tensor, d = self.seen[symbol]
        return what, self.emit("aten::size.int", tensor, d)

    def range_of(self, symbol):
        """Returns (minimum, maximum), each None if there is no such limit."""
        limits = self.limits.get(symbol)
        low, high = (limit(limits.lower), limit(limits.upper)) if limits is not None else (None, None)
        return low if low is not None and low > 2 else None, high  # PyTorch specializes 0 and 1, so that its minimum of 2 means none

    def check_range(self, symbol, size, what):
        low, high = self.range_of(symbol)
        if low is not None:
            self.refuse_unless("aten::ge.int", size, low, f"{what} must be at least {low}, got {{}}", size)
        if high is not None:
            self.refuse_unless("aten::le.int", size, high, f"{what} must be at most {high}, got {{}}", size)

    def check_derived(self):
        """Adds checks of sizes that are a multiple of others plus a number. They come after all inputs."""
        for expr in self.seen:
            terms, added = linear(expr)
            if terms is None or expr.is_Symbol:
                continue
            what, size = self.value_of(expr)
            if all(symbol in self.seen for symbol in terms):
                self.check_sum(terms, added, what, size)
            elif len(terms) == 1:  # PyTorch solves for it
                (factor,) = terms.values()
                rest = self.emit("aten::remainder.int", self.emit("aten::sub.int", size, added), factor)
                self.refuse_unless("aten::eq.int", rest, 0, f"{what} must be a multiple of {factor}"
                                   + (f" plus {added}" if added else "") + ", got {}", size)

    def check_sum(self, terms, added, what, size):
        wanted, told = added, []
        for symbol, factor in terms.items():
            other, of = self.value_of(symbol)
            wanted = self.emit("aten::add.int", wanted, self.emit("aten::mul.int", of, factor))
            told.append(f"{factor} times {other}" if factor != 1 else other)
        told += [str(added)] * (added != 0)
        self.refuse_unless("aten::eq.int", size, wanted, f"{what} must be {{}} ({' plus '.join(told)}), got {{}}", wanted, size)


def linear(expr):
    """Returns ({symbol: factor}, number) of a sum of multiples; (None, None) of any other expression."""
    factors, added = {}, 0
    for term, factor in expr.as_coefficients_dict().items():
        if not factor.is_Integer or not (term.is_Symbol or term == 1):
            return None, None
        if term.is_Symbol:
            factors[term] = int(factor)
        else:
            added = int(factor)
    return factors, added


def fixed_size(n):
    """Returns a size as a number; None if it is dynamic. A SymInt may be a number."""
    if isinstance(n, torch.SymInt) and not n.node.expr.is_Integer:
        return None
    return int(n)


def root_of(expr):
    """Returns (symbol, factor) of a multiple of a symbol; None of any other expression."""
    terms, added = linear(expr)
    if terms is None or added or len(terms) != 1:
        return None
    (root, factor), = terms.items()
    return (root, factor) if factor > 0 else None


def varying(inputs, inside):
    """Returns the dynamic sizes of `inputs` that can be tried at other values: symbols or multiples of one on which no other size depends.

    Sizes depend on a symbol as a sum, or as the size of a tensor in `inside`.
    """
    def symbolic(examples):
        return {n.node.expr for example in examples for n in example.shape if fixed_size(n) is None}

    exprs = symbolic(inputs)
    bound = {symbol for expr in exprs if root_of(expr) is None for symbol in expr.free_symbols}
    bound |= {symbol for expr in symbolic(inside) for symbol in expr.free_symbols}
    return {expr for expr in exprs if root_of(expr) and root_of(expr)[0] not in bound}
