"""PyTorch refuses inputs of other sizes, ranks and constants than those a program was exported for: so does its file."""

import torch


def refuse_unless(builder, ok, message, *shown):
    """Raises as PyTorch would where `ok` is false; each {} of the message is one of `shown`."""
    builder.begin("prim::If", [ok])
    builder.block()
    builder.leave([])
    builder.block()
    text = builder.node("aten::format", [message, *shown]) if shown else message
    builder.node("prim::RaiseException", [text, None], [])
    builder.leave([])
    builder.end([], "")


def refuse_other_number(builder, value, number, message):
    """Raises where an int is not that number; the message shows it."""
    refuse_unless(builder, builder.node("aten::eq.int", [value, number]), message, value)


def check_constant(builder, name, value, constant):
    """A plain input is a part of the program: it has to be what it was."""
    compared, wanted = value, constant
    if isinstance(constant, bool):
        compared, wanted = builder.node("aten::Int.bool", [value]), int(constant)
    op = {int: "aten::eq.int", float: "aten::eq.float", str: "aten::eq.str"}.get(type(wanted))
    if op is not None:
        ok = builder.node(op, [compared, wanted])
        refuse_unless(builder, ok, f"the input {name} is {{}}; it was exported as {constant}", value)


class Sizes:
    """The checks of tensors' sizes. `limits` are the program's range constraints, by symbol."""

    def __init__(self, builder, limits):
        self.b, self.limits = builder, limits
        self.seen = {}  # {symbolic size: (what it is, its value)}

    def emit(self, op, *args):
        return self.b.node(op, list(args))

    def refuse_unless(self, op, a, b, message, *shown):
        refuse_unless(self.b, self.emit(op, a, b), message, *shown)

    def check(self, name, value, example):
        """An input that was exported with this example, of possibly symbolic sizes."""
        sizes = [fixed_size(n) for n in example.shape]
        wanted = ", ".join("?" if n is None else str(n) for n in sizes)
        message = f"the input {name} has sizes {{}}; it was exported with [{wanted}]"
        shape = self.emit("aten::size", value)
        if None not in sizes:
            self.refuse_unless("aten::eq.int_list", shape, sizes, message, shape)
            return
        refuse_unless(self.b, self.emit("aten::eq.int", self.emit("aten::len.t", shape), len(sizes)), message, shape)
        for d, n in enumerate(example.shape):
            size, what = self.emit("aten::size.int", value, d), f"size {d} of the input {name}"
            if sizes[d] is not None:
                refuse_other_number(self.b, size, sizes[d], f"{what} is {{}}; it was exported as {sizes[d]}")
            else:
                self.check_symbol(n.node.expr, size, what)

    def check_symbol(self, symbol, size, what):
        if symbol in self.seen:
            other, first = self.seen[symbol]
            self.refuse_unless("aten::eq.int", size, first, f"{what} is {{}} and {other} is {{}}: they must be equal", size, first)
            return
        self.seen[symbol] = what, size
        limits = self.limits.get(symbol)
        low, high = (bound(limits.lower), bound(limits.upper)) if limits is not None else (None, None)
        if low is not None and low > 2:  # PyTorch's own rule: 0 and 1 are not told apart
            self.refuse_unless("aten::ge.int", size, low, f"{what} is {{}}; it must be at least {low}", size)
        if high is not None:
            self.refuse_unless("aten::le.int", size, high, f"{what} is {{}}; it must be at most {high}", size)

    def check_derived(self):
        """Behind all inputs: sizes that are multiples of others, and so much more."""
        for expr, (what, size) in self.seen.items():
            terms, added = linear(expr)
            if terms is None or expr.is_Symbol:
                continue
            if all(symbol in self.seen for symbol in terms):
                self.check_sum(terms, added, what, size)
            elif len(terms) == 1:  # PyTorch solves for it
                (factor,) = terms.values()
                rest = self.emit("aten::remainder.int", self.emit("aten::sub.int", size, added), factor)
                self.refuse_unless("aten::eq.int", rest, 0, f"{what} is {{}}; it must be a multiple of {factor}"
                                   + (f" and {added} more" if added else ""), size)

    def check_sum(self, terms, added, what, size):
        wanted, told = added, []
        for symbol, factor in terms.items():
            other, of = self.seen[symbol]
            wanted = self.emit("aten::add.int", wanted, self.emit("aten::mul.int", of, factor))
            told.append(f"{factor} times {other}" if factor != 1 else other)
        told += [str(added)] * (added != 0)
        self.refuse_unless("aten::eq.int", size, wanted, f"{what} is {{}}; it must be {{}}: {' plus '.join(told)}", size, wanted)


def linear(expr):
    """({symbol: factor}, number) of a sum of multiples, (None, None) of anything else."""
    factors, added = {}, 0
    for term, factor in expr.as_coefficients_dict().items():
        if not factor.is_Integer or not (term.is_Symbol or term == 1):
            return None, None
        if term.is_Symbol:
            factors[term] = int(factor)
        else:
            added = int(factor)
    return factors, added


def bound(value):
    """A limit of a size, one of sympy's numbers; None where there is none."""
    return int(value) if value.is_Integer and abs(value) < 2**62 else None


def fixed_size(n):
    """A size as a number; None where the program leaves it open. A SymInt can turn out to be a number."""
    if isinstance(n, torch.SymInt) and not n.node.expr.is_Integer:
        return None
    return int(n)


def dynamic_sizes(program, names):
    """{input: dimensions} whose size may grow by one without breaking a rule of the program."""
    places, fixed = {}, set()
    holders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT" or spec.arg.name not in holders:
            continue
        val = holders[spec.arg.name].meta.get("val")
        for d, n in enumerate(val.shape if isinstance(val, torch.Tensor) else ()):
            if fixed_size(n) is not None:
                continue
            expr = n.node.expr
            limits = program.range_constraints.get(expr)
            high = bound(limits.upper) if limits is not None else None
            if not expr.is_Symbol or spec.arg.name not in names or (high is not None and (n.node.hint or 0) >= high):
                fixed |= expr.free_symbols
            places.setdefault(expr, []).append((spec.arg.name, d))
    out = {}
    for expr, at in places.items():
        if expr.free_symbols & fixed:
            continue
        for name, d in at:
            out.setdefault(name, []).append(d)
    return out
