"""Converts a frozen and inlined graph of TorchScript to the exporter's own."""

import torch

from ...base import core
from ...base.errors import RushlightError, unsupported
from . import constants, graphs, places
from .objects import Contents, attribute_type, packed_class
from .places import Place
from .types import attributes_of, exported, is_program_class
from .with_statements import is_silent_context

_WRAPPER = "self." + "m."  # the prefix that freezing adds to the names of attributes


class TensorNames:
    """Finds the name of the tensor that a tensor is a view of: "conv.weight"."""

    def __init__(self):
        self.by_data = {}

    def add(self, tensor, name):
        if _has_data(tensor):
            self.by_data.setdefault(tensor.data_ptr(), []).append((tensor, name))

    def find(self, tensor):
        if not _has_data(tensor):
            return ""
        return next((name for named, name in self.by_data.get(tensor.data_ptr(), ())
                     if named.numel() == tensor.numel() and named.dtype == tensor.dtype), "")


def _has_data(tensor):
    return tensor.layout == torch.strided and tensor.numel() > 0 and not _is_fake(tensor)


def _is_fake(tensor):
    return tensor.device.type != "cpu" or type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


class Context:
    """The state that the methods of a program share."""

    def __init__(self, handles, names=None):
        self.handles, self.names = handles, names or TensorNames()
        self.attributes = []  # (name, type, tree)
        self.slots = {}  # {key of an attribute: its index}
        self.paths = {}  # {identity of an object: its path}
        self.as_values = set()
        self.contents = Contents()


class Converter:
    """Converts a method of `module`, or a function if `module` is None. `source` and `lines`: as for describe()."""

    def __init__(self, context, module, source, lines):
        self.context, self.module, self.source, self.lines = context, module, source, lines
        self.b = core.GraphBuilder()
        self.values = {}
        self.objects = {}  # {value: (its place, its path)} of modules and of objects that are like modules
        self.silent = set()  # contexts
        self.nodes = []

    def run(self, graph):
        self.nodes = graphs.all_nodes(graph.block())  # the wrappers of nodes stay alive
        inputs = list(graph.inputs())
        if self.module is not None:
            first = inputs.pop(0)
            self.objects[first.unique()] = (Place(first.type(), self.module), None)
        for value in inputs:
            self.values[value.unique()] = self.b.input(exported(value.type()), value.debugName())
        self.block(graph)
        self.b.set_result(self.value(next(graph.outputs())))
        return self.b

    def refuse(self, node, why):
        file, line, *_ = self.context.handles.source(node)
        raise unsupported(f"{file}:{line}: {why}" if file else why)

    def value(self, value):
        key = value.unique()
        if key in self.values:
            return self.values[key]
        if key in self.objects:
            self.refuse(value.node(), f"a module or object must not be used as a value, got %{value.debugName()} of type "
                        f"{value.type().annotation_str}")
        self.refuse(value.node(), f"%{value.debugName()} must be defined before it is used")

    def block(self, block):
        for node in block.nodes():
            handler = _HANDLERS.get(node.kind())
            if handler is None or not handler(self, node):
                self.copy(node)

    def place(self, node):
        """The next nodes come from `node`."""
        if self.source:
            file, line, function, *rest = self.context.handles.source(node)
            self.b.source = (*self.lines.get(file, {}).get(line, (file, line, function)), *rest)

    # -- nodes that are copied

    def add(self, node, op, inputs, outputs=None):
        """Adds a node with the source of `node`, and with results for its results."""
        self.place(node)
        outputs = list(node.outputs()) if outputs is None else outputs
        created = self.b.node(op, inputs, [exported(v.type()) for v in outputs], [v.debugName() for v in outputs])
        self.take(outputs, created if isinstance(created, list) else [created])

    def take(self, values, created):
        for value, own in zip(values, created, strict=True):
            self.values[value.unique()] = own

    def copy(self, node):
        inputs = [self.value(v) for v in node.inputs()]
        if node.kind() == "prim::isinstance":
            inputs.append(self.b.tree(self.asked_types(node)))
        op = graphs.operator_of(node)
        blocks = list(node.blocks())
        if not blocks:
            self.add(node, op, inputs)
            return
        self.place(node)
        self.b.begin(op, inputs)
        for block in blocks:
            params = list(block.inputs())
            self.take(params, self.b.block([exported(v.type()) for v in params], [v.debugName() for v in params]))
            self.block(block)
            self.b.leave([self.value(v) for v in block.outputs()])
        outputs = list(node.outputs())
        self.take(outputs, self.b.end([exported(v.type()) for v in outputs], [v.debugName() for v in outputs]))

    def asked_types(self, node):
        """prim::isinstance keeps its types as an attribute. Here they are an argument: an empty list whose item type is a tuple of
        these types."""
        types = []
        for type_ in node.tys("types"):
            if type_.kind() == "AnyTupleType":
                self.add_tuples_among(node, node.inputsAt(0).type(), types)
            else:
                types.append(exported(type_))
        return ("list", core.Type.list(core.Type.tuple(types)), [])

    def add_tuples_among(self, node, of, types):
        """A file has no type of all tuples. Adds the tuple types that the value may have."""
        if of.kind() == "AnyType":
            self.refuse(node, "cannot test whether a value of type Any is a tuple: name the tuples (Union[...]), or test for one "
                        "(Tuple[int, int])")
        if of.kind() == "TupleType":
            types.append(exported(of))
        elif of.kind() in ("UnionType", "OptionalType"):
            for member in of.containedTypes():
                self.add_tuples_among(node, member, types)

    # -- nodes that may need more than a copy: each of these returns whether it made the node

    def sorted(self, node):
        """PyTorch sorts objects by the program's own __lt__, and leaves the order of equal ones to std::sort."""
        type_ = node.inputsAt(0).type()
        if type_.kind() != "ListType":
            return False
        item = type_.getElementType()
        for compared in item.containedTypes() if item.kind() == "TupleType" else [item]:
            if is_program_class(compared):
                self.refuse(node, f"cannot sort objects of type {compared.annotation_str} by __lt__: sort tuples (key, index), and take "
                            "the objects by the index")
        return False

    def create_object(self, node):
        type_ = node.output().type()
        if is_silent_context(type_):
            self.silent.add(node.output().unique())
            return True
        if not is_program_class(type_):
            return False
        self.add(node, "rush::object", [])
        return True

    def python_call(self, node):
        self.refuse(node, f"cannot export a call of the Python function '{node.pyname()}' (torch.jit.ignore): remove the call, or mark the "
                    "function @torch.jit.unused if it never runs")

    def with_statement(self, node):
        if node.inputsAt(0).unique() not in self.silent:
            return False
        self.values[node.output().unique()] = self.b.tree(constants.NONE)
        return True

    def compare_objects(self, node):
        """Returns whether two modules are the same."""
        known = [self.objects.get(v.unique()) for v in node.inputs()]
        if None in known:
            return False
        same = places.are_same(known[0][0], known[1][0])
        self.values[node.output().unique()] = self.b.tree(("bool", same == (node.kind() == "aten::__is__")))
        return True

    # -- constants

    def constant(self, node):
        output = node.output()
        type_ = output.type()
        if constants.holds_objects(type_):
            self.constant_objects(node, type_)
            return True
        if packed_class(type_):
            self.packed_weights(node, packed_class(type_))
            return True
        tree = self.constant_tree(node, type_)
        if tree[0] == "tensor" and tree[1].is_quantized:
            self.quantized(node, tree[1])
            return True
        tree = self.named(tree, output.debugName())
        self.values[output.unique()] = self.b.tree(tree, None if tree == constants.NONE else exported(type_))
        return True

    def constant_tree(self, node, type_):
        try:
            if constants.holds_classes(type_):
                return constants.tree_at(Place(type_, node=node))
            value = graphs.constant_of(node.output())
            if value is None and type_.kind() not in ("NoneType", "OptionalType", "TensorType", "AnyType", "UnionType"):
                self.refuse(node, f"a constant must have a type that a file can hold, got {type_.annotation_str}")
            return constants.tree_of(value, type_)
        except RushlightError as error:
            raise unsupported(self.placed(node, str(error))) from None
        except UnicodeDecodeError as error:
            self.refuse(node, f"a constant string must be UTF-8, got the bytes {error.object!r}")

    def placed(self, node, why):
        file, line, *_ = self.context.handles.source(node)
        return f"{file}:{line}: {why}" if file and not why.startswith(f"{file}:{line}: ") else why

    def named(self, tree, debug_name):
        """Names tensors as in the state dict, and folded weights as freezing does ("self.conv.weight...")."""
        alone = tree[0] == "tensor"

        def name(tensor):
            found = self.context.names.find(tensor)
            if found or not alone or not debug_name.strip("0123456789."):
                return found
            return _without_self(debug_name)

        return constants.with_names(tree, name)

    def constant_objects(self, node, type_):
        """Freezing makes an object in an attribute without a SetAttr a constant, although the program may write into it. It stays an
        attribute."""
        output = node.output()
        name, place = _without_self(output.debugName()), Place(type_, node=node)
        key = "constant " + name
        if is_program_class(type_):
            key = places.identity(place)
            name = self.context.paths.setdefault(key, name)
            if key not in self.context.as_values:
                self.objects[output.unique()] = (place, name)
                return
        self.read_slot(node, self.slot(key, name, place))

    def packed_weights(self, node, name):
        """Packed weights become an operator that the runtime lacks, so that it is listed with the operators that use them."""
        self.place(node)
        self.values[node.output().unique()] = self.b.node(f"quantized::{name}", [], [core.Type("Any")], "")

    def quantized(self, node, tensor):
        """A quantized constant becomes its integers and a node that makes the quantized tensor."""
        scheme = tensor.qscheme()
        if scheme not in (torch.per_channel_affine, torch.per_tensor_affine):
            self.refuse(node, "a quantized tensor must have integer zero points, got floats")
        inputs = [("tensor", tensor.int_repr(), "")]
        if scheme == torch.per_channel_affine:
            op = "aten::_make_per_channel_quantized_tensor"
            inputs += [("tensor", tensor.q_per_channel_scales(), ""), ("tensor", tensor.q_per_channel_zero_points(), ""),
                       ("int", tensor.q_per_channel_axis())]
        else:
            op = "aten::_make_per_tensor_quantized_tensor"
            inputs += [("float", tensor.q_scale()), ("int", tensor.q_zero_point())]
        self.place(node)
        self.values[node.output().unique()] = self.b.node(op, [self.b.tree(tree) for tree in inputs], [core.Type("Tensor")], "")

    # -- attributes

    def slot(self, key, name, place):
        """Returns the index of an attribute of the program. `place`: where its first value is."""
        if key not in self.context.slots:
            self.context.contents.add(place, name)
            tree = self.named(constants.tree_at(place), "")
            if tree[0] == "tensor":
                tree = (*tree[:2], name)
            self.context.slots[key] = len(self.context.attributes)
            self.context.attributes.append((name, exported(place.type), tree))
        return self.context.slots[key]

    def slot_of(self, node):
        owner, path = self.objects[node.inputsAt(0).unique()]
        name = node.s("name")
        whole = f"{path}.{name}" if path else name
        key = f"{places.identity(owner)}/{name}" if is_program_class(owner.type) else f"{path}/{name}"
        return self.slot(key, whole, owner.attribute(name, attribute_type(owner, name)))

    def read_slot(self, node, slot):
        self.add(node, "rush::get_attr", [self.b.tree(("int", slot))])

    def attribute_of_value(self, node):
        """Reads or writes an attribute of an object that is a value, by its index in the class."""
        of = node.inputsAt(0)
        if of.unique() in self.objects:
            return False
        if of.unique() in self.silent:
            for value in node.outputs():
                self.values[value.unique()] = self.b.tree(("bool", False))
            return True
        name, type_ = node.s("name"), of.type()
        op, attribute_key = node.kind(), ("str", name)
        if is_program_class(type_):
            op = "rush::object_get" if op == "prim::GetAttr" else "rush::object_set"
            attribute_key = ("int", [attribute for attribute, _ in attributes_of(type_)].index(name))
        self.add(node, op, [self.value(of), self.b.tree(attribute_key), *map(self.value, list(node.inputs())[1:])])
        return True

    def get_attr(self, node):
        if self.attribute_of_value(node):
            return True
        owner, path = self.objects[node.inputsAt(0).unique()]
        output, name = node.output(), node.s("name")
        if output.type().kind() == "ClassType":
            inner = owner.attribute(name, output.type())
            if not is_program_class(output.type()) or places.identity(inner) not in self.context.as_values:
                whole = name if not path else f"{path}.{name}"
                self.objects[output.unique()] = (inner, "" if path is None else whole)
                return True
        self.read_slot(node, self.slot_of(node))
        return True

    def set_attr(self, node):
        if self.attribute_of_value(node):
            return True
        slot = self.b.tree(("int", self.slot_of(node)))
        self.add(node, "rush::set_attr", [slot, self.value(node.inputsAt(1))])
        return True


def _without_self(name):
    return name.removeprefix(_WRAPPER).removeprefix("self.")


_HANDLERS = {
    "aten::sort": Converter.sorted,
    "aten::sorted": Converter.sorted,
    "prim::Constant": Converter.constant,
    "prim::GetAttr": Converter.get_attr,
    "prim::SetAttr": Converter.set_attr,
    "prim::CreateObject": Converter.create_object,
    "aten::__is__": Converter.compare_objects,
    "aten::__isnot__": Converter.compare_objects,
    "prim::PythonOp": Converter.python_call,
    "prim::Enter": Converter.with_statement,
    "prim::Exit": Converter.with_statement,
}
