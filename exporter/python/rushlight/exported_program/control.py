"""Converts control flow, which FX graphs have as higher-order operators, to prim::If and prim::Loop."""

import operator

from torch.utils import _pytree as pytree

from .higher_order import SCANS, name_of, scan_arguments

FOREVER = 2**63 - 1
# {call that sets a mode of PyTorch's: index of the argument that is its body}. The body is inlined.
INLINED = {"wrap_with_set_grad_enabled": 1, "tag_activation_checkpoint": 0, "wrap_activation_checkpoint": 0}


def truth(builder, value):
    """bool(value)."""
    op = {"Tensor": "aten::Bool.Tensor", "int": "aten::Bool.int", "float": "aten::Bool.float"}.get(str(value.type))
    return builder.node(op, [value], name="cond") if op else value


def choose(builder, pred, branches, name):
    """Adds prim::If. Each of the two branches gives its results."""
    builder.begin("prim::If", [truth(builder, pred)])
    results = []
    for branch in branches:
        builder.block()
        results.append(branch())
        builder.leave(results[-1])
    types = [a.type if a.type == b.type else "Any" for a, b in zip(*results, strict=True)]
    return builder.end(types, name)


def loop(builder, rounds, first, carried, body, name):
    """Adds prim::Loop. body(iteration, values) gives the condition and the next values."""
    types = [v.type for v in carried]
    builder.begin("prim::Loop", [rounds, first, *carried])
    i, *inner = builder.block(["int", *types], name)
    cond, results = body(i, inner)
    builder.leave([cond, *results])
    return builder.end(types, name)


class Control:
    """Converts higher-order operators. `converter` converts their graphs."""

    def __init__(self, converter):
        self.converter, self.b = converter, converter.b

    def call(self, module, node, env):
        name, args = name_of(node.target), node.args
        value, block = self.converter.value, self.converter.block

        def body(argument):
            return operator.attrgetter(argument.target)(module)

        if name == "cond":
            pred, then, otherwise, operands = args
            values = value(operands, env)
            return choose(self.b, value(pred, env), [lambda: block(body(then), values),
                                                     lambda: block(body(otherwise), values)], node.name)
        if name == "while_loop":
            cond, step, carried, more = args
            return self.while_loop(body(cond), body(step), value(carried, env), value(more, env), node.name)
        if name in SCANS:
            step, init, xs, dim, reverse, more = scan_arguments(name, args)
            return self.scan(body(step), value(init, env), value(xs, env), dim, reverse, value(more, env), node.name)
        if name == "wrap_with_autocast":
            device, dtype, enabled, _, step, *operands = args
            if enabled:
                first = next((n for n in body(step).graph.nodes if n.op == "call_function"), node)  # it has a line
                self.converter.refuse(first, f"autocast on {device}{f' to {dtype}' if dtype else ''}, whose results have "
                                      "half the precision")
            return block(body(step), value(operands, env))
        if name in INLINED:
            at = INLINED[name]
            return block(body(args[at]), value(list(args[at + 1:]), env))
        if name == "strict_mode":
            return block(body(args[0]), value(list(args[1]), env))
        if name == "flex_attention":
            return self.converter.refuse(node, "flex_attention of an ExportedProgram: export the module itself, which is traced")
        return self.converter.refuse(node, f"the higher-order operator {name}")

    def while_loop(self, cond, step, carried, more, name):
        block = self.converter.block

        def body(_, values):
            results = block(step, [*values, *more])
            return truth(self.b, block(cond, [*results, *more])[0]), results

        first = truth(self.b, block(cond, [*carried, *more])[0])
        return loop(self.b, FOREVER, first, carried, body, name)

    def scan(self, step, init, xs, dim, reverse, more, name):
        node = self.b.node
        rounds = node("aten::size.int", [xs[0], dim])
        returned = next(n for n in step.graph.nodes if n.op == "output").args[0]
        n_results = len(pytree.tree_leaves(returned, is_leaf=lambda x: x is None)) - len(init)
        lists = [node("prim::ListConstruct", [], ["Tensor[]"]) for _ in range(n_results)]

        def body(i, values):
            if reverse:
                i = node("aten::sub.int", [node("aten::sub.int", [rounds, 1]), i])
            rows = [node("aten::select.int", [x, dim, i]) for x in xs]
            out = self.converter.block(step, [*values, *rows, *more])
            for into, row in zip(lists, out[len(init):], strict=True):
                node("aten::append.t", [into, row], ["Tensor[]"])
            return True, out[:len(init)]

        carried = loop(self.b, rounds, True, init, body, name)
        stacked = [node("aten::stack", [x, 0], name=name) for x in lists]
        if reverse:
            stacked = [node("aten::flip", [x, [0]], name=name) for x in stacked]
        return [*carried, *stacked]
