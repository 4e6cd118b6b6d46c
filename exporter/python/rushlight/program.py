"""torch.export's programs as the exporter's own graph, without torch.jit.

Each node of an ExportedProgram names its operator as an OpOverload, whose schema is ATen's; what is
written here is the text that `ir/parse.cpp` reads, beside the list of the program's tensors.
"""

import collections
import copy
import dataclasses
import math
import operator
import os
import re
import zipfile

import torch
from torch.fx import _pytree as fx_pytree
from torch.utils import _pytree as pytree

from .errors import unsupported
from .program_alias import SAME, aliases_any, is_fresh, written_nodes
from .program_trace import SCANS, handles_of, name_of, scan_arguments, trace  # noqa: F401

FOREVER = 2**63 - 1


def is_program_file(path):
    """Whether the file is one that torch.export.save wrote (and not TorchScript)."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return any(n.endswith(("serialized_exported_program.json", "models/model.json")) for n in names)


class Value:
    """An operand: its text ("%x", "2") and its type as text. Several results are a list of these."""

    def __init__(self, text, type):
        self.text, self.type = text, type


# ---- Constants and types as text

DTYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
          torch.float64, None, torch.complex64, torch.complex128, torch.bool, torch.qint8, torch.quint8,
          torch.qint32, torch.bfloat16]
LAYOUTS = [torch.strided, torch.sparse_coo, torch.sparse_csr]
FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def code_of(table, value):
    if value not in table:
        raise unsupported(f"{value} cannot be exported")
    return str(table.index(value))


def literal(value):
    """A Python value as the text of a constant."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
        text = repr(value)
        return text if "." in text or "e" in text else text + "."
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, torch.dtype):
        return code_of(DTYPES, value)
    if isinstance(value, torch.layout):
        return code_of(LAYOUTS, value)
    if isinstance(value, torch.memory_format):
        return code_of(FORMATS, value)
    if isinstance(value, torch.device):
        return f'device({quoted(str(value))})'
    raise unsupported(f"a constant of type {type(value).__name__} cannot be exported")


def python_type(value):
    """The type of a plain value or a symbolic number."""
    if isinstance(value, (torch.Tensor, torch.nn.Parameter)):
        return "Tensor"
    for type_, name in ((bool, "bool"), (torch.SymBool, "bool"), (int, "int"), (torch.SymInt, "int"),
                        (float, "float"), (torch.SymFloat, "float"), (str, "str"), (complex, "complex")):
        if isinstance(value, type_):
            return name
    if value is None:
        return "Tensor?"
    raise unsupported(f"a value of type {type(value).__name__} cannot be exported")


def schema_type(type_):
    """A type of a schema as the text of ours."""
    kind = type_.kind()
    if kind == "ListType":
        return schema_type(type_.getElementType()) + "[]"
    if kind == "OptionalType":
        return schema_type(type_.getElementType()) + "?"
    return {"TensorType": "Tensor", "IntType": "int", "SymIntType": "int", "FloatType": "float", "BoolType": "bool",
            "SymBoolType": "bool", "NumberType": "Scalar", "StringType": "str", "NoneType": "None"}.get(kind, "Any")


# ---- Where a node comes from

def stored_path(path):
    here = os.getcwd() + os.sep
    if path.startswith(here):
        return path[len(here):]
    _, mark, rest = path.rpartition("-packages/")
    return rest if mark else os.path.basename(path) if os.path.isabs(path) else path


def user_frame(stack_trace):
    """(file, line, function) of the innermost frame outside torch; None where the trace says none."""
    frames = re.findall(r'File "([^"\n]+)", line (\d+), in (\S+)', stack_trace or "")
    outside = [f for f in frames if "-packages/torch/" not in f[0] and not f[0].startswith("torch/")]
    if not outside:
        return None
    file, line, function = outside[-1]
    return stored_path(file), int(line), function


def source_of(node):
    frame = user_frame(node.meta.get("stack_trace") or node.stack_trace)
    if frame is None:
        return ""
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    path = re.sub(r"^L\['\w+'\]\.?", "", modules[-1][0]) if modules else ""
    path = re.sub(r"\['?(\w+)'?\]|\._modules", lambda m: "." + m[1] if m[1] else "", path).replace("..", ".")
    return f"  # {frame[0]}:{frame[1]} in {frame[2]}" + (f" of {path}" if path else "")


# ---- The graph

RENAMED = {
    "aten::sym_size.int": "aten::size.int",
    "aten::sym_stride.int": "aten::stride.int",
    "aten::sym_numel": "aten::numel",
    "aten::sym_storage_offset": "aten::storage_offset",
    "aten::_local_scalar_dense": "aten::item",
    "aten::lift_fresh_copy": "aten::clone",
}
# They say what the compiler may rely on.
DROPPED = {"aten::_assert_tensor_metadata", "aten::sym_constrain_range", "aten::sym_constrain_range_for_size"}

COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
# Operators on numbers: (ints, floats), with the type of the result where it is another.
NUMBERS = {
    operator.add: ("aten::add.int", "aten::add.float"),
    operator.sub: ("aten::sub.int", "aten::sub.float"),
    operator.mul: ("aten::mul.int", "aten::mul.float"),
    operator.floordiv: ("aten::floordiv.int", "aten::floordiv.float"),
    operator.mod: ("aten::remainder.int", "aten::remainder.float"),
    operator.truediv: ("aten::div.int", "aten::div.float"),
    operator.pow: ("aten::pow.int_to_int", "aten::pow.float"),
    operator.neg: ("aten::neg.int", "aten::neg.float"),
    operator.pos: (None, None),
    abs: ("prim::abs.int", "prim::abs.float"),
    operator.eq: ("aten::eq.int", "aten::eq.float"),
    operator.ne: ("aten::ne.int", "aten::ne.float"),
    operator.lt: ("aten::lt.int", "aten::lt.float"),
    operator.le: ("aten::le.int", "aten::le.float"),
    operator.gt: ("aten::gt.int", "aten::gt.float"),
    operator.ge: ("aten::ge.int", "aten::ge.float"),
    torch.sym_max: ("prim::max.int", "prim::max.float"),
    torch.sym_min: ("prim::min.int", "prim::min.float"),
    max: ("prim::max.int", "prim::max.float"),
    min: ("prim::min.int", "prim::min.float"),
    math.floor: (None, "aten::floor.float"),
    math.ceil: (None, "aten::ceil.float"),
    round: (None, "aten::round.float"),
}
BOOLS = {operator.and_: "aten::__and__.bool", operator.or_: "aten::__or__.bool", torch.sym_not: "aten::__not__",
         operator.not_: "aten::__not__"}
# Calls that only set a mode which an interpreter does not have; their body runs in place.
INLINED = {"wrap_with_set_grad_enabled": 1, "tag_activation_checkpoint": 0, "wrap_activation_checkpoint": 0}


class Writer:
    """The text of one graph."""

    def __init__(self):
        self.lines, self.depth, self.names = [], 1, set()
        self.tensors, self.slots = [], {}  # (name, tensor), and their places
        self.types = {}  # of values, by their text
        self.made = {}  # the lines where values are made: {text: line}

    def fresh(self, name="v"):
        name = re.sub(r"\W", "_", name)
        unique, n = name, 0
        while unique in self.names:
            n += 1
            unique = f"{name}.{n}"
        self.names.add(unique)
        return "%" + unique

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def emit(self, op, operands, types=("Tensor",), name="v", source=""):
        """A node; gives a Value, or a list of them where it has several results, or none."""
        outs = [Value(self.fresh(name), t) for t in types]
        self.types.update((v.text, v.type) for v in outs)
        left = ", ".join(f"{v.text} : {v.type}" for v in outs)
        self.made.update((v.text, len(self.lines)) for v in outs)
        self.line(f"{left}{' = ' if outs else ''}{op}({', '.join(getattr(o, 'text', o) for o in operands)}){source}")
        return outs[0] if len(outs) == 1 else outs

    def mark(self, value, handle):
        """Gives the line that makes a value, or several of them, its debug handle, if there is such a line."""
        texts = [getattr(v, "text", None) for v in (value if isinstance(value, list) else [value])]
        at = {self.made.pop(t, None) for t in texts}
        if len(at) == 1 and None not in at:
            (line,) = at
            self.lines[line] += f"{'' if '  # ' in self.lines[line] else '  #'} @{handle}"

    def tensor(self, name, tensor):
        """The value of a tensor of the program: an attribute, until it shows that nobody writes it."""
        self.slots[name] = len(self.tensors)
        self.tensors.append((name, tensor))
        return self.emit("rush::get_attr", [str(self.slots[name])], name=name)

    def refuse_unless(self, ok, message, *shown):
        """Raises as PyTorch would where `ok` is false."""
        self.line(f"prim::If({ok.text})")
        self.depth += 1
        self.line("block0():")
        self.line("  -> ()")
        self.line("block1():")
        self.depth += 1
        text = self.emit("aten::format", [quoted(message), *shown], ("str",)) if shown else Value(quoted(message), "str")
        self.emit("prim::RaiseException", [text, "None"], ())
        self.line("-> ()")
        self.depth -= 2


class Converter:
    """Walks FX graphs of ATen operators."""

    def __init__(self, writer, module):
        self.w, self.written, self.handles = writer, written_nodes(module), handles_of(module)

    # -- arguments

    def operand(self, a, type_, env, count=None):
        """An argument as its schema wants it."""
        kind = type_.kind()
        if kind == "OptionalType":
            return literal(None) if a is None else self.operand(a, type_.getElementType(), env, count)
        if kind == "ListType":
            item = type_.getElementType()
            if isinstance(a, torch.fx.Node):
                value = env[a]
                if not isinstance(value, list):
                    return value.text
                a = value
            if not isinstance(a, (list, tuple)):
                a = [a] * (count or 1)
            texts = [self.operand(x, item, env) for x in a]
            text_type = schema_type(type_)
            if any(t.startswith("%") for t in texts) or "Tensor" in text_type:
                return self.w.emit("prim::ListConstruct", texts, (text_type,)).text
            return f"[{', '.join(texts)}]:{text_type}"
        value = a if isinstance(a, Value) else env[a] if isinstance(a, torch.fx.Node) else None
        if value is not None:
            if isinstance(value, list):
                raise unsupported("several results are used as one value")
            return self.cast(value, kind).text
        if kind == "FloatType" and isinstance(a, int) and not isinstance(a, bool):
            a = float(a)
        if isinstance(a, torch.Tensor):
            return self.w.tensor(f"constant.{len(self.w.tensors)}", a).text
        return literal(a)

    def cast(self, value, kind):
        if kind == "FloatType" and value.type == "int":
            return self.w.emit("aten::Float.int", [value], ("float",))
        if kind == "FloatType" and value.type == "Scalar":
            return self.w.emit("aten::Float.Scalar", [value], ("float",))
        if kind in ("IntType", "SymIntType") and value.type == "Scalar":
            return self.w.emit("aten::Int.Scalar", [value], ("int",))
        return value

    def value(self, a, env):
        """An argument of a Python function."""
        if isinstance(a, torch.fx.Node):
            return env[a]
        if isinstance(a, (list, tuple)):
            return [self.value(x, env) for x in a]
        if isinstance(a, torch.Tensor):
            return self.w.tensor(f"constant.{len(self.w.tensors)}", a)
        return Value(literal(a), python_type(a))

    # -- graphs

    def run(self, module, env):
        """All nodes of module.graph; gives what it returns, in its own nesting."""
        for node in module.graph.nodes:
            if node.op == "output":
                return self.value(node.args[0], env)
            if node.op == "placeholder":
                continue
            if node.op == "get_attr":
                self.get_attr(module, node, env)
            elif node.op == "call_function":
                env[node] = self.call(module, node, env)
                self.w.mark(env[node], self.handles[node])
            else:
                self.refuse(node, f"{node.op} of {node.target}")
        raise unsupported("a graph without an output")

    def get_attr(self, module, node, env):
        what = operator.attrgetter(node.target)(module)
        if isinstance(what, torch.Tensor):
            env[node] = self.w.tensor(node.target, what)
        elif not isinstance(what, torch.nn.Module):
            self.refuse(node, f"an attribute of type {type(what).__name__}")

    def block(self, module, arguments):
        """A graph of its own inside this one, with given values for its placeholders; a flat list."""
        holders = [n for n in module.graph.nodes if n.op == "placeholder"]
        out = self.run(module, dict(zip(holders, arguments, strict=True)))
        return list(out) if isinstance(out, list) else [out]

    def refuse(self, node, why):
        where = source_of(node).strip().lstrip("# ").split(" in ")[0]
        raise unsupported((f"{where}: " if where else "") + f"{why} cannot be exported")

    def call(self, module, node, env):
        target = node.target
        source = source_of(node)
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self.higher_order(module, node, env, source)
        if isinstance(target, torch._ops.OpOverload):
            return self.overload(node, target, env, source)
        if target is operator.getitem:
            return self.getitem(node, env, source)
        if getattr(target, "__name__", "") in ("_set_grad_enabled", "_enter_autocast", "_exit_autocast"):
            return None
        return self.number(node, env, source)

    def getitem(self, node, env, source):
        container, index = env[node.args[0]], node.args[1]
        if isinstance(container, list):
            return container[index]
        if container.type.endswith("[]"):
            return self.w.emit("aten::__getitem__.t", [container, literal(index)], (container.type[:-2],), node.name, source)
        return self.refuse(node, f"getitem of {container.type}")

    def number(self, node, env, source):
        """Arithmetic on sizes and other numbers."""
        target, args = node.target, [self.value(a, env) for a in node.args]
        name = getattr(target, "__name__", str(target))
        types = {a.type for a in args if isinstance(a, Value)}
        emit = lambda op, operands, type_: self.w.emit(op, operands, (type_,), node.name, source)  # noqa: E731
        if target in BOOLS and types == {"bool"}:
            return emit(BOOLS[target], args, "bool")
        if target is torch.sym_ite:
            return self.choose(args[0], lambda: [args[1]], lambda: [args[2]], node.name, source)[0]
        if name in ("sym_float", "_sym_float", "float"):
            return args[0] if types == {"float"} else emit("aten::Float.Scalar", args, "float")
        if name in ("sym_int", "_sym_int", "int", "trunc"):
            return args[0] if types == {"int"} else emit("aten::Int.Scalar", args, "int")
        if name in ("sqrt", "_sym_sqrt", "sym_sqrt"):
            return emit("aten::sqrt.int" if types == {"int"} else "aten::sqrt.float", args, "float")
        key = next((f for f in NUMBERS if f is target), None)
        if key is None or not types or types - {"int", "float", "bool", "Scalar"}:
            return self.refuse(node, f"the function {getattr(target, '__module__', '')}.{name}")
        for_ints, for_floats = NUMBERS[key]
        ints = types <= {"int", "bool"}
        op = for_ints if ints else for_floats
        if op is None:
            return args[0]
        if ints:
            args = [emit("aten::Int.bool", [a], "int") if a.type == "bool" else a for a in args]
        else:
            args = [a if a.type == "float" else emit("aten::Float.Scalar", [a], "float") for a in args]
        result = "int" if ints else "float"
        if op.split("::")[1].split(".")[0] in COMPARISONS:
            result = "bool"
        elif op == "aten::div.int":
            result = "float"
        elif target in (math.floor, math.ceil):
            result = "int"
        return emit(op, args, result)

    # -- ATen

    def overload(self, node, target, env, source):
        schema, op = target._schema, target.name()
        if op in DROPPED:
            return None
        if target.namespace == "prims":
            self.refuse(node, f"the operator {op} (decompose to ATen operators only)")
        args = self.arguments(schema, node, env)
        if op in SAME:
            return Value(args[0], "Tensor")
        if op == "aten::_scaled_dot_product_flash_attention_for_cpu":
            q, k, v, p, causal, _, mask, scale = args
            return [self.w.emit("aten::scaled_dot_product_attention", [q, k, v, mask, p, causal, scale, "False"],
                                name=node.name, source=source), Value("None", "None")]
        if re.fullmatch(r"aten::\w+_copy(\.\w+)?", op) and op not in RENAMED and op != "aten::_to_copy":
            view = op.replace("_copy", "", 1)
            out = self.w.emit(view, args, name=node.name, source=source)
            return self.w.emit("aten::clone", [out, "None"], name=node.name, source=source)
        op, args = self.numbers_for_tensors(op, schema, args, node)
        types = [schema_type(r.type) for r in schema.returns]
        if op in ("aten::sym_size.int", "aten::sym_stride.int", "aten::sym_numel", "aten::sym_storage_offset"):
            types = ["int"]
        op = RENAMED.get(op, op)
        if op in ("aten::view", "aten::_unsafe_view") and node not in self.written:
            # Tracing drops a contiguous() that had nothing to do with the strides that PyTorch's kernels
            # give; ours may give others. Nobody writes these elements, so a copy will do where a view does not.
            op = "aten::reshape"
        if op == "aten::clone" and len(args) == 1:
            args.append("None")
        out = self.w.emit(op, args, types, node.name, source)
        if op == "aten::item":
            return self.item(node, out, source)
        return out

    def arguments(self, schema, node, env):
        out = []
        for i, arg in enumerate(schema.arguments):
            if i < len(node.args):
                a = node.args[i]
            elif arg.name in node.kwargs:
                a = node.kwargs[arg.name]
            else:
                a = arg.default_value
            out.append(self.operand(a, arg.type, env, arg.N))
        return out

    def numbers_for_tensors(self, op, schema, args, node):
        """x * 2 is mul.Tensor with a number in its place: mul.Scalar, with a number's promotion."""
        numbers = [i for i, arg in enumerate(schema.arguments)
                   if arg.type.kind() == "TensorType" and self.is_number(args[i])]
        if not numbers:
            return op, args
        base, _, overload = op.partition(".")
        scalar = base + "." + overload.replace("Tensor", "Scalar")
        if numbers == [1] and overload in ("Tensor", "Tensor_mode", "Tensor_Tensor") and base != "aten::pow":
            return scalar, args
        if base == "aten::pow" and numbers == [1]:
            return "aten::pow.Tensor_Scalar", args
        args = list(args)
        for i in numbers:
            args[i] = self.w.emit("prim::NumToTensor.Scalar", [args[i]], name=node.name).text
        return op, args

    def is_number(self, text):
        return self.w.types.get(text) in ("int", "float", "bool", "Scalar") or (text[0] not in '%"<[dcN')

    def item(self, node, out, source):
        """item() as the number that it is known to be."""
        kind = python_type(node.meta["val"]) if "val" in node.meta else "Scalar"
        cast = {"int": "aten::Int.Scalar", "float": "aten::Float.Scalar"}.get(kind)
        return self.w.emit(cast, [out], (kind,), node.name, source) if cast else out

    # -- control flow

    def higher_order(self, module, node, env, source):
        name, args = name_of(node.target), node.args
        body = lambda a: operator.attrgetter(a.target)(module)  # noqa: E731
        if name == "cond":
            pred, then, otherwise, operands = args
            values = self.value(operands, env)
            return self.choose(self.value(pred, env), lambda: self.block(body(then), values),
                               lambda: self.block(body(otherwise), values), node.name, source)
        if name == "while_loop":
            cond, step, carried, more = args
            return self.while_loop(body(cond), body(step), self.value(carried, env), self.value(more, env), node.name, source)
        if name in SCANS:
            step, init, xs, dim, reverse, more = scan_arguments(name, args)
            return self.scan(body(step), self.value(init, env), self.value(xs, env), dim, reverse,
                             self.value(more, env), node.name, source)
        if name == "wrap_with_autocast":
            device, dtype, enabled, _, step, *operands = args
            if enabled:
                first = next((n for n in body(step).graph.nodes if n.op == "call_function"), node)  # it has a line
                self.refuse(first, f"autocast on {device}{f' to {dtype}' if dtype else ''}, whose results have half the precision,")
            return self.block(body(step), self.value(operands, env))
        if name in INLINED:
            at = INLINED[name]
            return self.block(body(args[at]), self.value(list(args[at + 1:]), env))
        if name == "strict_mode":
            return self.block(body(args[0]), self.value(list(args[1]), env))
        return self.refuse(node, f"the higher-order operator {name}")

    def truth(self, value, source=""):
        if value.type in ("bool",):
            return value
        op = {"Tensor": "aten::Bool.Tensor", "int": "aten::Bool.int", "float": "aten::Bool.float"}[value.type]
        return self.w.emit(op, [value], ("bool",), "cond", source)

    def choose(self, pred, then, otherwise, name, source):
        cond = self.truth(pred, source)
        at = len(self.w.lines)
        self.w.line("")
        self.w.depth += 1
        results = []
        for i, branch in enumerate((then, otherwise)):
            self.w.line(f"block{i}():")
            self.w.depth += 1
            results.append(branch())
            self.w.line(f"-> ({', '.join(v.text for v in results[-1])})")
            self.w.depth -= 1
        self.w.depth -= 1
        outs = [Value(self.w.fresh(name), a.type if a.type == b.type else "Any") for a, b in zip(*results, strict=True)]
        self.close(at, outs, f"prim::If({cond.text}){source}")
        return outs

    def close(self, at, outs, text):
        """Puts the head of a node with blocks in its line, now that its results are known."""
        self.w.types.update((v.text, v.type) for v in outs)
        left = ", ".join(f"{v.text} : {v.type}" for v in outs)
        self.w.lines[at] = "  " * self.w.depth + left + (" = " if outs else "") + text

    def loop(self, rounds, first, carried, body, name, source):
        """prim::Loop; body(round, values) gives the condition and the next values."""
        at = len(self.w.lines)
        self.w.line("")
        outs = [Value(self.w.fresh(name), v.type) for v in carried]
        i, inner = Value(self.w.fresh("i"), "int"), [Value(self.w.fresh(name), v.type) for v in carried]
        self.w.types.update((v.text, v.type) for v in [i, *inner])
        self.w.depth += 1
        self.w.line(f"block0({', '.join(f'{v.text} : {v.type}' for v in [i, *inner])}):")
        self.w.depth += 1
        cond, results = body(i, inner)
        self.w.line(f"-> ({', '.join(v.text for v in [cond, *results])})")
        self.w.depth -= 2
        self.close(at, outs, f"prim::Loop({', '.join([rounds, first.text, *(v.text for v in carried)])}){source}")
        return outs

    def while_loop(self, cond, step, carried, more, name, source):
        def body(_, values):
            results = self.block(step, [*values, *more])
            return self.truth(self.block(cond, [*results, *more])[0], source), results
        first = self.truth(self.block(cond, [*carried, *more])[0], source)
        return self.loop(str(FOREVER), first, carried, body, name, source)

    def scan(self, step, init, xs, dim, reverse, more, name, source):
        emit = self.w.emit
        rounds = emit("aten::size.int", [xs[0], literal(dim)], ("int",), source=source)
        n_results = len(pytree.tree_leaves(next(n for n in step.graph.nodes if n.op == "output").args[0],
                                           is_leaf=lambda x: x is None)) - len(init)
        lists = [emit("prim::ListConstruct", [], ("Tensor[]",)) for _ in range(n_results)]

        def body(i, values):
            if reverse:
                last = emit("aten::sub.int", [rounds, "1"], ("int",))
                i = emit("aten::sub.int", [last, i], ("int",))
            rows = [emit("aten::select.int", [x, literal(dim), i], source=source) for x in xs]
            out = self.block(step, [*values, *rows, *more])
            for into, row in zip(lists, out[len(init):], strict=True):
                emit("aten::append.t", [into, row], ("Tensor[]",), source=source)
            return Value("True", "bool"), out[:len(init)]
        carried = self.loop(rounds.text, Value("True", "bool"), init, body, name, source)
        stacked = [emit("aten::stack", [x, "0"], name=name, source=source) for x in lists]
        if reverse:
            stacked = [emit("aten::flip", [x, "[0]"], name=name, source=source) for x in stacked]
        return [*carried, *stacked]


# ---- Trees of values

def is_leaf(spec):
    return spec.is_leaf()


def children_of(spec):
    return spec.children() if hasattr(spec, "children") else spec.children_specs  # older torch


def tree_type(spec, leaves, what):
    """The type of a nested value as text; `leaves` yields the types of its leaves in their order."""
    if is_leaf(spec):
        return next(leaves)
    return container_type(spec, [tree_type(s, leaves, what) for s in children_of(spec)], what)


def container_type(spec, items, what):
    """The same of a container, from the types of its items."""
    same = items[0] if items and all(t == items[0] for t in items) else "Any" if items else "Tensor"
    if spec.type is tuple:
        return f"({', '.join(items)})"
    if spec.type is list:
        return same + "[]"
    if is_dict(spec):
        keys = {python_type(k) for k in keys_of(spec)} or {"str"}
        if len(keys) > 1 or keys - {"str", "int", "float", "bool"}:
            raise unsupported(f"{what} has a dict whose keys are not of one plain type")
        return f"Dict({keys.pop()}, {same})"
    fields = fields_of(spec)
    if fields is not None:
        name = (spec.context if spec.type is collections.namedtuple else spec.type).__name__
        return f"{name}({', '.join(f'{f} : {t}' for f, t in zip(fields, items))})"
    raise unsupported(f"{what} holds a {spec.type.__name__}, which cannot be exported: tuples, lists, dicts and dataclasses can")


def is_dict(spec):
    """A dict, or a class of dicts that is registered with its keys (as the outputs of transformers are)."""
    return isinstance(spec.type, type) and issubclass(spec.type, dict) and spec.type is not collections.defaultdict


def fields_of(spec):
    """The names of the items of a named tuple, or of a dataclass but for its Nones; of anything else None."""
    if spec.type is collections.namedtuple:
        return list(spec.context._fields)
    if dataclasses.is_dataclass(spec.type) and not is_dict(spec):
        return list(spec.context[0])
    return None


def keys_of(spec):
    return list(spec.context)


def rebuild(spec, value):
    """A plain nested value with the containers of the spec."""
    if is_leaf(spec):
        return value
    if is_dict(spec):
        if not isinstance(value, dict) or set(value) != set(keys_of(spec)):
            return value  # PyTorch will say what is wrong
        value = [value[k] for k in keys_of(spec)]
    if len(value) != len(children_of(spec)):
        return value
    items = [rebuild(s, v) for s, v in zip(children_of(spec), value)]
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(items, spec.context)


class Description:
    """What export_graph wants, made of an ExportedProgram."""

    def __init__(self, program):
        self.program, self.w = program, Writer()
        self.converter = Converter(self.w, program.graph_module)
        self.signature = program.graph_signature
        self.in_spec, self.out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        self.holders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
        self.env, self.inputs, self.params, self.dynamic = {}, [], [], {}
        self.named = {}

    def make(self, source):
        self.user_inputs()
        for spec in self.signature.input_specs:
            self.given(spec)
        returned = self.converter.run(self.program.graph_module, self.env)
        outputs, result, type_ = self.results(returned)
        params = ", ".join(f"{v.text} : {v.type}" for v in self.params)
        texts = {0: str(self.program.graph), 1: self.program.graph_module.code} if source else {}
        lines = [line if source else line.split("  # ")[0] for line in self.w.lines]
        return {
            "graph": f"graph({params}):\n" + "\n".join(lines) + f"\n  return ({result})\n",
            "inputs": self.inputs, "outputs": outputs, "tensors": self.w.tensors, "texts": texts,
            "meta": {"producer": "rushlight", "torch": torch.__version__, "front": "torch.export"},
        }

    # -- inputs

    def user_inputs(self):
        args, kwargs = children_of(self.in_spec)
        names = getattr(self.program.module_call_graph[0].signature, "forward_arg_names", None) or []
        specs = [s for s in self.signature.input_specs if s.kind.name == "USER_INPUT"]
        leaves = iter(specs)
        tops = list(zip([*children_of(args), *children_of(kwargs)],
                        [*([None] * len(children_of(args))), *keys_of(kwargs)]))
        checks = []
        for i, (spec, key) in enumerate(tops):
            mine = [next(leaves) for _ in range(spec.num_leaves)]
            name = key or (names[i] if i < len(names) else mine[0].arg.name if is_leaf(spec) else f"arg_{i}")
            type_ = tree_type(spec, iter([self.leaf_type(s) for s in mine]), f"the input {name}")
            param = Value(self.w.fresh(name), type_)
            self.params.append(param)
            self.w.types[param.text] = type_
            self.inputs.append(self.port(name, mine[0] if is_leaf(spec) else None))
            checks.append((spec, param, iter(mine), name))
        for spec, param, mine, name in checks:
            self.unpack(spec, param, mine, name)
        self.check_sizes()

    def leaf_type(self, spec):
        if type(spec.arg).__name__ == "ConstantArgument":
            return python_type(spec.arg.value)
        return python_type(self.holders[spec.arg.name].meta["val"])

    def port(self, name, spec):
        out = {"name": name}
        if spec is None:
            return out
        if type(spec.arg).__name__ == "ConstantArgument":
            out["initial"] = spec.arg.value
        else:
            out.update(hint(self.holders[spec.arg.name].meta["val"]))
        return out

    def unpack(self, spec, value, leaves, name):
        if is_leaf(spec):
            leaf = next(leaves)
            self.env[self.holders[leaf.arg.name]] = value
            self.named[leaf.arg.name] = (name, value, leaf)
            return
        keys = range(len(children_of(spec)))
        if spec.type is list:
            op, shown = "aten::__getitem__.t", "[{}]"
        elif is_dict(spec):
            op, shown, keys = f"aten::__getitem__.Dict_{value.type[5:].split(',')[0]}", "[{!r}]", keys_of(spec)
        else:
            op, shown = "prim::TupleIndex", "[{}]"
        if op != "prim::TupleIndex":
            kind = "t" if spec.type is list else "Dict_" + value.type[5:].split(",")[0]
            n = self.w.emit("aten::len." + kind, [value], ("int",))
            ok = self.w.emit("aten::eq.int", [n, literal(len(keys))], ("bool",))
            self.w.refuse_unless(ok, f"the input {name} has {{}} items; it was exported with {len(keys)}", n)
        leaves = list(leaves)
        fields = fields_of(spec)
        for key, child in zip(keys, children_of(spec)):
            mine, leaves = leaves[:child.num_leaves], leaves[child.num_leaves:]
            type_ = tree_type(child, iter([self.leaf_type(s) for s in mine]), f"the input {name}")
            path = name + (f".{fields[key]}" if fields else shown.format(key))
            item = self.w.emit(op, [value, literal(key)], (type_,), path)
            self.unpack(child, item, iter(mine), path)

    def check_sizes(self):
        """PyTorch refuses inputs of other sizes than those the program was exported for: so do we."""
        seen = {}
        for name, value, leaf in self.named.values():
            if type(leaf.arg).__name__ == "ConstantArgument":
                self.check_constant(name, value, leaf.arg.value)
                continue
            val = self.holders[leaf.arg.name].meta["val"]
            if isinstance(val, torch.Tensor):
                self.check_tensor(name, value, val, seen)
        for expr, (what, size) in seen.items():
            self.check_derived(expr, size, what, seen)

    def check_constant(self, name, value, constant):
        op = {bool: "aten::eq.bool", int: "aten::eq.int", float: "aten::eq.float", str: "aten::eq.str"}.get(type(constant))
        if op is None:
            return
        shown, wanted = value, constant
        if op == "aten::eq.bool":  # there is no such operator
            shown, wanted, op = self.w.emit("aten::Int.bool", [value], ("int",)), int(constant), "aten::eq.int"
        ok = self.w.emit(op, [shown, literal(wanted)], ("bool",))
        self.w.refuse_unless(ok, f"the input {name} is {{}}; it was exported as {constant}", value)

    def check_tensor(self, name, value, val, seen):
        emit = self.w.emit
        sizes = [fixed_size(n) for n in val.shape]
        ranks = f"the input {name} has sizes {{}}; it was exported with {[('?' if n is None else n) for n in sizes]}"
        shape = emit("aten::size", [value], ("int[]",))
        if None not in sizes:
            ok = emit("aten::eq.int_list", [shape, f"[{', '.join(map(str, sizes))}]:int[]"], ("bool",))
            self.w.refuse_unless(ok, ranks.replace("'", ""), shape)
            return
        rank = emit("aten::len.t", [shape], ("int",))
        self.w.refuse_unless(emit("aten::eq.int", [rank, str(len(sizes))], ("bool",)), ranks.replace("'", ""), shape)
        for d, n in enumerate(val.shape):
            size = emit("aten::size.int", [value, str(d)], ("int",))
            if sizes[d] is not None:
                ok = emit("aten::eq.int", [size, str(sizes[d])], ("bool",))
                self.w.refuse_unless(ok, f"size {d} of the input {name} is {{}}; it was exported as {sizes[d]}", size)
                continue
            symbol = n.node.expr
            if symbol in seen:
                other, first = seen[symbol]
                self.w.refuse_unless(emit("aten::eq.int", [size, first], ("bool",)),
                                     f"size {d} of the input {name} is {{}} and {other} is {{}}: they must be equal", size, first)
            else:
                self.check_range(symbol, size, f"size {d} of the input {name}")
            seen.setdefault(symbol, (f"size {d} of the input {name}", size))

    def check_derived(self, expr, size, what, seen):
        """A size that is a multiple of another, and so much more."""
        terms, added = linear(expr)
        if terms is None or expr.is_Symbol:
            return
        emit = self.w.emit
        if any(symbol not in seen for symbol in terms):  # PyTorch solves for one
            (factor, *others) = terms.values()
            if not others:
                rest = emit("aten::sub.int", [size, str(added)], ("int",))
                rest = emit("aten::remainder.int", [rest, str(factor)], ("int",))
                ok = emit("aten::eq.int", [rest, "0"], ("bool",))
                self.w.refuse_unless(ok, f"{what} is {{}}; it must be a multiple of {factor}"
                                     + (f" and {added} more" if added else ""), size)
            return
        wanted, told = Value(str(added), "int"), []
        for symbol, factor in terms.items():
            other, of = seen[symbol]
            wanted = emit("aten::add.int", [wanted, emit("aten::mul.int", [of, str(factor)], ("int",))], ("int",))
            told.append(f"{factor} times {other}" if factor != 1 else other)
        told += [str(added)] * (added != 0)
        ok = emit("aten::eq.int", [size, wanted], ("bool",))
        self.w.refuse_unless(ok, f"{what} is {{}}; it must be {{}}: {' plus '.join(told)}", size, wanted)

    def check_range(self, symbol, size, what):
        limits = self.program.range_constraints.get(symbol)
        low, high = (bound(limits.lower), bound(limits.upper)) if limits is not None else (None, None)
        if low is not None and low > 2:  # PyTorch's own rule: 0 and 1 are not told apart
            ok = self.w.emit("aten::ge.int", [size, str(low)], ("bool",))
            self.w.refuse_unless(ok, f"{what} is {{}}; it must be at least {low}", size)
        if high is not None:
            ok = self.w.emit("aten::le.int", [size, str(high)], ("bool",))
            self.w.refuse_unless(ok, f"{what} is {{}}; it must be at most {high}", size)

    def given(self, spec):
        """Parameters, buffers and constants."""
        kind, node = spec.kind.name, self.holders[spec.arg.name]
        if kind == "USER_INPUT":
            return
        if kind in ("PARAMETER", "BUFFER"):
            tensor = self.program.state_dict.get(spec.target)
            tensor = self.program.constants[spec.target] if tensor is None else tensor
        elif kind == "CONSTANT_TENSOR":
            tensor = self.program.constants[spec.target]
        else:
            if node.users:
                raise unsupported(f"the program holds {spec.target}, which is no tensor and cannot be exported")
            return
        if node.users:
            self.env[node] = self.w.tensor(spec.target, tensor)
            self.named[spec.arg.name] = (spec.target, self.env[node], spec)

    # -- results

    def results(self, returned):
        specs = self.signature.output_specs
        leaves, values = [], list(returned) if isinstance(returned, list) else [returned]
        output = next(n for n in self.program.graph.nodes if n.op == "output").args[0]
        for spec, value, node in zip(specs, values, output, strict=True):
            kind = spec.kind.name
            if kind == "USER_OUTPUT":
                leaves.append((value, node))
            elif kind in ("BUFFER_MUTATION", "USER_INPUT_MUTATION"):
                self.write_back(spec, value, node, [n for s, n in zip(specs, output) if s.kind.name == "USER_OUTPUT"])
            else:
                raise unsupported(f"the program returns a {kind.lower()}, which cannot be exported")
        types = [v.type for v, _ in leaves]
        result = self.pack(self.out_spec, iter(v for v, _ in leaves))
        return self.output_ports(leaves, types), result.text, result.type

    def write_back(self, spec, value, node, user_outputs):
        if spec.kind.name == "USER_INPUT_MUTATION":
            self.w.emit("aten::copy_", [self.env[self.holders[spec.target]], value, "False"])
            return
        holder = next(self.holders[s.arg.name] for s in self.signature.input_specs if s.target == spec.target)
        if spec.target not in self.w.slots:  # nobody reads it
            self.env[holder] = self.w.tensor(spec.target, self.program.state_dict[spec.target])
        storage = self.program.state_dict[spec.target].untyped_storage().data_ptr() if spec.target in self.program.state_dict else 0
        alone = sum(t.untyped_storage().data_ptr() == storage for _, t in self.w.tensors) == 1
        if alone and is_fresh(node) and node not in user_outputs and not aliases_any(holder, user_outputs):
            self.w.emit("rush::set_attr", [str(self.w.slots[spec.target]), value], ())
        else:
            self.w.emit("aten::copy_", [self.env[holder], value, "False"])

    def pack(self, spec, values):
        """Builds the nested result of its leaves."""
        if is_leaf(spec):
            return next(values)
        items = [self.pack(s, values) for s in children_of(spec)]
        type_ = container_type(spec, [v.type for v in items], "the result")
        if is_dict(spec):
            operands = [x for k, v in zip(keys_of(spec), items) for x in (literal(k), v)]
            return self.w.emit("prim::DictConstruct", operands, (type_,), "output")
        return self.w.emit("prim::ListConstruct" if spec.type is list else "prim::TupleConstruct", items, (type_,), "output")

    def output_ports(self, leaves, types):
        spec, types = self.out_spec, iter(types)
        fields = None if is_leaf(spec) else fields_of(spec)
        tuple_ = not is_leaf(spec) and (spec.type is tuple or fields is not None)
        children = children_of(spec) if tuple_ else [spec]
        out, at = [], 0
        for i, child in enumerate(children):
            port = {"name": fields[i] if fields else f"output_{i}" if tuple_ else "output",
                    "type": tree_type(child, types, "the result")}
            node = leaves[at][1] if child.num_leaves and at < len(leaves) else None
            if is_leaf(child) and isinstance(node, torch.fx.Node):
                port.update(hint(node.meta.get("val")))
            at += child.num_leaves
            if not (is_leaf(child) and node is None and not tuple_):  # a model that returns None has no output
                out.append(port)
        return out


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


def hint(val):
    if not isinstance(val, torch.Tensor):
        return {}
    sizes = map(fixed_size, val.shape)
    return {"dtype": DTYPES.index(val.dtype), "sizes": [-1 if n is None else n for n in sizes]}


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


def describe_program(program, source=True):
    """(description for _C.export_graph, {input: dynamic dimensions})."""
    description = Description(program).make(source)
    names = [p["name"] for p in description["inputs"]]
    return description, dynamic_sizes(program, names)


def inputs_of(program, args):
    """Positional arguments, as the containers that the program was exported with."""
    args_spec, kwargs_spec = children_of(program.call_spec.in_spec)
    return [rebuild(s, a) for s, a in zip([*children_of(args_spec), *children_of(kwargs_spec)], args)]


def let_fx_flatten(spec):
    """What torch.utils._pytree alone knows (OrderedDict, a dataclass) a program's module refuses as an input, until fx knows it."""
    if is_leaf(spec):
        return
    if spec.type not in fx_pytree.SUPPORTED_NODES:
        flatten = pytree.SUPPORTED_NODES[spec.type].flatten_fn
        fx_pytree.register_pytree_flatten_spec(spec.type, lambda value, _: flatten(value)[0])
    for child in children_of(spec):
        let_fx_flatten(child)


def reference_of(program):
    """Answers as PyTorch does, each time from the program's first state."""
    let_fx_flatten(program.call_spec.in_spec)
    base = program.module()
    args_spec, kwargs_spec = children_of(program.call_spec.in_spec)
    n = len(children_of(args_spec))

    def answer(_, args):
        given = inputs_of(program, args)
        with torch.no_grad():
            return copy.deepcopy(base)(*given[:n], **dict(zip(keys_of(kwargs_spec), given[n:])))

    return answer


def example_of(program):
    """The example that the program was exported with, by position; None where it was not kept."""
    if not getattr(program, "example_inputs", None):
        return None
    args, kwargs = program.example_inputs
    return (*args, *kwargs.values())
