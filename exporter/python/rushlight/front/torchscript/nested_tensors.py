"""Nested tensors, which nn.TransformerEncoder makes and converts back if some items are padding.

Each is replaced by a padded tensor and a mask of its items, a Tensor?, which is None if the program did not make it nested.
"""

import torch

from ...base.errors import unsupported
from . import graphs
from .operator_programs import insert_program

_BOOL = torch._C.BoolType.get()
_TO_PADDED = ("aten::to_padded_tensor", "aten::nested_to_padded_tensor")
# Operators that only read properties of the padded tensor.
_ASKS = {"aten::dim", "prim::dtype", "prim::device", "prim::requires_grad", "aten::is_floating_point", "aten::__is__",
         "aten::__isnot__"}


def pad_nested_tensors(graph, handles):
    """Replaces nested tensors by padded ones.

    Raises:
        RushlightError: they are not used as in nn.TransformerEncoder
    """
    if graphs.has_kind(graph, "aten::_nested_tensor_from_mask"):
        _Nested(graph, handles).run()


class _Nested:
    def __init__(self, graph, handles):
        self.graph, self.handles = graph, handles
        self.items = {}  # {value: mask of a value that may be nested}

    def run(self):
        self.block(self.graph.block())
        with graphs.before(self.graph, self.graph.return_node()):
            for value in list(self.graph.outputs()):
                if self.mask(value) is not None:
                    self.raise_unsupported(value.node(), value, "as a result")

    def mask(self, value):
        return self.items.get(value.unique())

    def block(self, block):
        for node in list(block.nodes()):
            for inner in node.blocks():
                self.block(inner)
            kind = node.kind()
            nested = [value for value in node.inputs() if value.unique() in self.items]
            if nested or kind in ("prim::If", "aten::_nested_tensor_from_mask"):
                with graphs.before(self.graph, node):
                    self.node(node, kind, nested)

    def node(self, node, kind, nested):
        if kind == "prim::If":
            self.merge_branches(node)
            return
        if kind == "aten::_nested_tensor_from_mask":
            self.from_mask(node)
            return
        first = node.inputsAt(0).unique() == nested[-1].unique()
        if kind == "prim::unchecked_cast":
            self.items[node.output().unique()] = self.mask(nested[-1])
        elif kind == "prim::is_nested":
            self.replace(node, self.is_not_none(self.mask(nested[-1])))
        elif first and kind == "aten::_transformer_encoder_layer_fwd":
            self.replace(node, self.insert_program("nested_encoder_layer", node))
        elif first and kind in _TO_PADDED:
            graphs.replace(node, self.insert_program("nested_to_padded", node))
        elif kind not in _ASKS:
            self.raise_unsupported(node, nested[-1], f"in {kind}")

    def is_not_none(self, value):
        none = self.graph.insertConstant(None)
        return graphs.call(self.graph, "aten::__isnot__", [value, none], _BOOL)

    def insert_program(self, name, node):
        """Inserts the program of an operator whose first argument is nested; its mask comes first."""
        return insert_program(self.graph, name, [self.mask(node.inputsAt(0)), *node.inputs()], node)[0]

    def replace(self, node, result):
        """Replaces the node's result by `result`, which is nested if the first argument is."""
        if node.output().type().kind() == "TensorType":
            self.items[result.unique()] = self.mask(node.inputsAt(0))
        graphs.replace(node, result)

    def from_mask(self, node):
        mask = insert_program(self.graph, "nested_from_mask", node.inputs(), node)[0]
        padded = self.graph.insertNode(self.graph.create("aten::alias", [node.inputsAt(0)], 1))
        padded.copyMetadata(node)
        graphs.replace(node, padded.output())
        self.items[padded.output().unique()] = mask

    def merge_branches(self, node):
        blocks = list(node.blocks())
        for i in range(node.outputsSize()):
            masks = [self.mask(list(inner.outputs())[i]) for inner in blocks]
            if all(mask is None for mask in masks):
                continue
            for inner, mask in zip(blocks, masks):
                if mask is None:
                    with graphs.before(self.graph, inner.returnNode()):
                        mask = self.graph.insertConstant(None)
                inner.registerOutput(mask)
            mask = node.addOutput()
            mask.setType(torch._C.OptionalType.ofTensor())
            self.items[node.outputsAt(i).unique()] = mask

    def raise_unsupported(self, node, nested, where):
        """The program raises if a nested tensor reaches an operator that takes none."""
        file, line, *_ = self.handles.source(node)
        why = f"a nested tensor {where} is not supported: only nn.TransformerEncoder may use nested tensors"
        why = f"{file}:{line}: {why}" if file else why
        mask = self.mask(nested)
        if mask.type().kind() == "TensorType":
            raise unsupported(why)
        found = self.is_not_none(mask)
        stop = graphs.add(self.graph, "prim::If", [found])
        raises = stop.addBlock()
        stop.addBlock()
        none = found.node().inputsAt(1)
        with graphs.before(self.graph, raises):
            graphs.add(self.graph, "prim::RaiseException", [self.graph.insertConstant(why), none])
