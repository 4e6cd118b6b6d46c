"""Describes an ExportedProgram for the exporter: its graph, its inputs and outputs, its texts."""

import torch

from ..base import core
from ..base.errors import unsupported
from . import guards
from .attributes import Attributes
from .convert import Converter
from .fixed_sizes import refuse_fixed_sizes
from .guards import fixed_size
from .containers import Dict, children_of, is_leaf, kind_of, pack, plain_type, tree_type, with_fields


def describe_program(program, source, for_complex, fields=None, method="forward", attributes=None, first=None):
    """Returns the description that core.export_graph takes.

    Args:
        source: keep Python lines and texts
        for_complex: as for Converter
        fields: the names of the outputs, if the program returns a dict whose keys they are
        method: its name in the file
        attributes: the Attributes of all programs of the file, if they are several
        first: the graph of the first one, if this is not it
    """
    refuse_fixed_sizes(program)
    return Description(program, source, for_complex, fields, method, attributes or Attributes({method: program}), first).make()


class Description:
    def __init__(self, program, source, for_complex, fields, method, attributes, first):
        self.program, self.signature, self.source, self.for_complex = program, program.graph_signature, source, for_complex
        self.in_spec, self.out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        if fields:
            self.out_spec = with_fields(self.out_spec, fields)
        self.holders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
        self.b, self.method, self.attributes = core.GraphBuilder(first), method, attributes
        self.env = {}  # {placeholder: value}
        self.inputs, self.named = [], []  # the ports, and (name, value, spec) of all leaves
        self.notes = []  # for Report.notes
        self.ports = {}  # {placeholder: port} of the inputs that are leaves

    def make(self):
        self.user_inputs()
        self.check_inputs()
        for spec in self.signature.input_specs:
            self.add_state(spec)
        module = self.program.graph_module
        returned = Converter(self.b, module, self.source, self.for_complex, self.attribute).run(module, self.env)
        outputs = self.results(returned if isinstance(returned, list) else [returned])
        path = "" if self.method == "forward" else f":{self.method}"
        texts = [(path, 0, str(self.program.graph)), (path, 1, self.program.graph_module.code)] if self.source else []
        method = {"name": self.method, "graph": self.b, "inputs": self.inputs, "outputs": outputs}
        return {"methods": [method], "texts": texts, "notes": self.notes,
                "meta": [("front", "torch.export"), ("producer", "rushlight"), ("torch", torch.__version__)]}

    # -- inputs

    def user_inputs(self):
        args, kwargs = children_of(self.in_spec)
        names = getattr(self.program.module_call_graph[0].signature, "forward_arg_names", None) or []
        leaves = iter([s for s in self.signature.input_specs if s.kind.name == "USER_INPUT"])
        keys = [*([None] * len(children_of(args))), *Dict.keys(kwargs)]
        params = []
        for i, (spec, key) in enumerate(zip([*children_of(args), *children_of(kwargs)], keys)):
            child_leaves = [next(leaves) for _ in range(spec.num_leaves)]
            name = key or (names[i] if i < len(names) else child_leaves[0].arg.name if is_leaf(spec) else f"arg_{i}")
            type_ = tree_type(spec, iter([self.leaf_type(s) for s in child_leaves]), f"the input {name}")
            params.append((spec, self.b.input(type_, name), child_leaves, name))
            self.inputs.append(self.port(name, child_leaves[0] if is_leaf(spec) else None))
            if is_leaf(spec):
                self.ports[child_leaves[0].arg.name] = self.inputs[-1]
        for param in params:
            self.unpack(*param)

    def leaf_type(self, spec):
        constant = type(spec.arg).__name__ == "ConstantArgument"
        return core.Type(plain_type(spec.arg.value if constant else self.holders[spec.arg.name].meta["val"]))

    def port(self, name, spec):
        if spec is None:
            return {"name": name}
        if type(spec.arg).__name__ == "ConstantArgument":
            return {"name": name, "initial": spec.arg.value}
        return {"name": name, **hint(self.holders[spec.arg.name].meta["val"])}

    def unpack(self, spec, value, leaves, name):
        """Takes the items out of an input, down to its leaves."""
        if is_leaf(spec):
            (leaf,) = leaves
            self.env[self.holders[leaf.arg.name]] = value
            self.named.append((name, value, leaf))
            return
        what = f"the input {name}"
        kind = kind_of(spec, what)
        keys = kind.keys(spec)
        if kind.checked:
            guards.refuse_other_number(self.b, kind.count(self.b, value), len(keys),
                                       f"{what} must have {len(keys)} items, as at export, got {{}}")
        for i, (key, child) in enumerate(zip(keys, children_of(spec))):
            child_leaves, leaves = leaves[:child.num_leaves], leaves[child.num_leaves:]
            type_ = tree_type(child, iter([self.leaf_type(s) for s in child_leaves]), what)
            path = name + kind.shown(spec, i)
            self.unpack(child, kind.item(self.b, value, key, type_, path), child_leaves, path)

    def check_inputs(self):
        tensors = []
        for name, value, spec in self.named:
            if type(spec.arg).__name__ == "ConstantArgument":
                guards.check_constant(self.b, name, value, spec.arg.value)
            elif isinstance(self.holders[spec.arg.name].meta["val"], torch.Tensor):
                tensors.append((name, value, self.holders[spec.arg.name].meta["val"], self.ports.get(spec.arg.name)))
        varying = guards.varying([example for *_, example, port in tensors if port is not None],
                                 [example for *_, example, port in tensors if port is None])
        sizes = guards.Sizes(self.b, self.program.range_constraints, varying)
        for name, value, example, port in sorted(tensors, key=lambda t: t[-1] is None):
            if port is None:
                sizes.check(name, value, example)
            else:
                port["constraints"] = sizes.constraint(name, value, example)
        sizes.check_derived()

    def add_state(self, spec):
        """Adds parameters, buffers and constants."""
        kind, node = spec.kind.name, self.holders[spec.arg.name]
        if kind == "USER_INPUT":
            return
        if kind not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            if node.users:
                raise unsupported(f"cannot export {spec.target}: values that the program stores must be tensors")
        elif node.users or self.is_written(spec.target):
            self.env[node] = self.attribute(spec.target, self.state(spec.target))

    def attribute(self, name, tensor):
        return self.attributes.value(self.b, self.method, name, tensor)

    def state(self, name):
        tensor = self.program.state_dict.get(name)
        return self.program.constants[name] if tensor is None else tensor

    def is_written(self, name):
        return any(s.kind.name == "BUFFER_MUTATION" and s.target == name for s in self.signature.output_specs)

    # -- results

    def results(self, returned):
        """Sets the result and the tensors that are written back. Returns the outputs."""
        user, written = [], []
        output = next(n for n in self.program.graph.nodes if n.op == "output").args[0]
        for spec, value, node in zip(self.signature.output_specs, returned, output, strict=True):
            kind = spec.kind.name
            if kind == "USER_OUTPUT":
                user.append((value, node))
            elif kind in ("BUFFER_MUTATION", "USER_INPUT_MUTATION"):
                written.append((spec, value))
            else:
                raise unsupported(f"cannot export a program that returns a {kind.lower()}")
        result, _ = pack(self.b, self.out_spec, iter([v for v, _ in user]), result_type, "the result")
        self.b.set_result(result)
        nones = sum(node is None for _, node in user)
        if nones:
            self.notes.append(f"the program returns None for {nones} of its {len(user)} results, for all inputs"
                              if len(user) > 1 else "the program returns None, for all inputs")
        for spec, value in written:
            self.write_back(spec, value)
        return self.output_ports(user)

    def write_back(self, spec, value):
        name = spec.target  # of an input
        if spec.kind.name == "BUFFER_MUTATION":
            name = next(s.arg.name for s in self.signature.input_specs if s.target == spec.target)
        self.b.write_back(self.env[self.holders[name]], value)

    def output_ports(self, leaves):
        """Returns one port for each item of a tuple. A model that returns None has no outputs."""
        spec, what = self.out_spec, "the result"
        names = None if is_leaf(spec) else kind_of(spec, what).names(spec)
        if names is None:
            names, children = ["output"], [spec]
            if is_leaf(spec) and leaves[0][1] is None:
                return []
        else:
            children = children_of(spec)
        out, rest = [], iter(leaves)
        for name, child in zip(names, children):
            child_leaves = [next(rest) for _ in range(child.num_leaves)]
            port = {"name": name, "type": tree_type(child, iter([result_type(v) for v, _ in child_leaves]), what)}
            if is_leaf(child) and isinstance(child_leaves[0][1], torch.fx.Node):
                port.update(hint(child_leaves[0][1].meta.get("val")))
            out.append(port)
        return out


def result_type(value):
    return core.Type("Tensor?") if value.is_none else value.type


def hint(val):
    """Returns the dtype and the sizes of a tensor, as far as they are known."""
    if not isinstance(val, torch.Tensor):
        return {}
    sizes = map(fixed_size, val.shape)
    return {"dtype": val.dtype, "sizes": [-1 if n is None else n for n in sizes]}
