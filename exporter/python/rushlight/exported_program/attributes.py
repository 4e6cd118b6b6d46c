"""The tensors that ExportedPrograms of one file store: what several of them have is stored once."""

import torch
import torch.fx
from torch.utils import _pytree as pytree

from ..base.errors import RushlightError
from ..base.values import has_memory


class Attributes:
    """The tensors of several programs, each with its own name.

    A tensor of another program is the same if it has the same memory. It is also the same if it has the same name and the same
    elements, as programs from files do.

    Args:
        programs: {method: ExportedProgram}
    """

    def __init__(self, programs):
        self.written = {name for program in programs.values() for name in _written_by(program)}
        self.twins = []  # (tensor, that of an earlier program) of those that are the same by name
        self._names, self._by_name, self._by_memory = set(), {}, {}

    def value(self, builder, method, name, tensor):
        """Returns the value of a tensor in the graph of a method.

        Raises:
            RushlightError: state of this name begins with other elements in another method
        """
        own, of, known = self._find_attribute(method, name, tensor) or (None, method, tensor)
        if own is None:
            own = name if name not in self._names else f"{method}.{name}"
            value = builder.attribute(own, tensor)
        else:
            value = builder.known_attribute(own)
        self._names.add(own)
        self._by_name.setdefault(name, (own, of, known))
        if _memory(tensor):
            self._by_memory.setdefault(_memory(tensor), (own, method, tensor))
        return value

    def _find_attribute(self, method, name, tensor):
        same = self._by_memory.get(_memory(tensor))
        if same and same[1] != method:
            return same
        same = self._by_name.get(name)
        if not same or same[1] == method:
            return None
        if _are_equal(same[2], tensor):
            self.twins.append((tensor, same[2]))
            return same
        if name in self.written:
            raise RushlightError("bad-argument", f"the methods '{same[1]}' and '{method}' have the state {name}, which must begin with the "
                                 "same dtype, sizes and elements in both: export both programs from one model, or give their buffers "
                                 "different names")
        return None


def _written_by(program):
    """Returns the names of the tensors that a program writes: at its end, or by operators on them or their views."""
    signature = program.graph_signature
    names = {spec.target for spec in signature.output_specs if spec.kind.name == "BUFFER_MUTATION"}
    stored = {spec.arg.name: spec.target for spec in signature.input_specs if spec.target is not None}
    views = {}  # {node: names of the tensors that it may be a view of}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            views[node] = {stored[node.name]} if node.name in stored else set()
            continue
        views[node] = set()
        for argument, value in zip(getattr(getattr(node.target, "_schema", None), "arguments", ()), node.args):
            if argument.alias_info is not None:
                of = set().union(*(views.get(v, ()) for v in pytree.tree_leaves(value) if isinstance(v, torch.fx.Node)))
                views[node] |= of
                names |= of if argument.alias_info.is_write else set()
    return names


def _memory(tensor):
    """Returns what tensors with the same elements in the same memory have in common; None for a tensor without memory."""
    if tensor.layout != torch.strided or tensor.is_quantized or not tensor.numel() or not has_memory(tensor):
        return None
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.is_conj(), tensor.is_neg()


def _are_equal(a, b):
    if a.dtype != b.dtype or a.shape != b.shape or any(t.layout != torch.strided or t.is_quantized for t in (a, b)):
        return False
    return torch.equal(*(t.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)))
