"""Runs PyTorch's unfrozen graph of a method, and keeps the results of each node.

After each node another one, a call of Python, records its results.
"""

import functools
import threading

import torch

from ...exported_program.interpreter import double_by_default
from . import graphs
from .constants import holds_classes
from .debug_handles import Handles
from .float64 import widen
from .scalar_operands import scalar_operands

# The elements of the results are uninitialized.
_LEAVES_OPEN = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::empty_permuted", "aten::new_empty",
                "aten::new_empty_strided", "aten::resize_"}
_WRITES_ALL = {"aten::fill_", "aten::zero_", "aten::copy_", "aten::normal_", "aten::uniform_", "aten::random_"}
_COMPUTES, _OPENS, _WRITES = range(3)
_current = threading.local()


class _Recorder:
    """The values of a run. Uninitialized memory is kept alive, so that no other tensor gets the same memory."""

    def __init__(self):
        self.nodes, self.open = [], {}

    def record(self, handle, role, values):
        if role != _COMPUTES:
            for value in values:
                self.follow(value, role)
        self.nodes.append((handle, _copies([v if self.is_comparable(v) else None for v in values])))

    def follow(self, value, role):
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            return
        storage = value.untyped_storage()
        if role == _OPENS:
            self.open[storage._cdata] = storage
        elif _is_dense(value) and value.numel() * value.element_size() == storage.nbytes():
            self.open.pop(storage._cdata, None)

    def is_comparable(self, value):
        if isinstance(value, torch.Tensor):
            return not value.is_nested and not (value.layout == torch.strided and value.untyped_storage()._cdata in self.open)
        if isinstance(value, (list, tuple)):
            return all(map(self.is_comparable, value))
        if isinstance(value, dict):
            return all(map(_is_data, value.values()))
        return _is_data(value)


def _is_data(value):
    return value is None or isinstance(value, (torch.Tensor, bool, int, float, complex, str, torch.device, list, tuple, dict))


def _is_dense(tensor):
    """Returns whether the elements fill a part of the memory without gaps."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _copies(values):
    """Copies of the values, with integers for quantized tensors. The storages of views are copied once."""
    storages = {}  # {address: (storage, which keeps its address; its copy)}

    def copied(value):
        if isinstance(value, torch.Tensor):
            return _copy(value.int_repr() if value.is_quantized else value, storages)
        if isinstance(value, dict):
            return {key: copied(item) for key, item in value.items()}
        return type(value)(map(copied, value)) if type(value) in (list, tuple) else value

    return [copied(value) for value in values]


def _copy(tensor, storages):
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        return tensor.clone()
    storage = tensor.untyped_storage()
    if storage._cdata not in storages:
        storages[storage._cdata] = storage, storage.clone()
    return torch.empty(0, dtype=tensor.dtype).set_(storages[storage._cdata][1], tensor.storage_offset(), tensor.shape, tensor.stride())


@torch.jit.ignore
def _record_results(handle: int, role: int, values: int) -> None:
    _current.recording.record(handle, role, values)


def _record_function(handle: int, role: int, values: int) -> None:
    _record_results(handle, role, values)


@functools.cache
def _record_script():
    """Returns a script with the node that calls _record_results."""
    return torch.jit.script(_record_function)


def _insert_recording(graph, node, handle):
    """Records the results of a node after it."""
    outputs = list(node.outputs())
    if not outputs:
        return
    op = node.kind()
    role = _OPENS if op in _LEAVES_OPEN else _WRITES if op in _WRITES_ALL else _COMPUTES
    seen = [] if _gives_tuples(node) else outputs
    with graphs.before(graph, node):
        none = graph.insertConstant(None)
        numbers = [graph.insertConstant(value) for value in (_signed(handle), role)]
        # An unused one of several results is None: if two elements are almost equal, an index may differ.
        shown = [v if (graphs.has_uses(v) or len(outputs) == 1) and _is_type_of_python(v.type()) else none for v in seen]
        values = graph.create("prim::TupleConstruct", shown, 1)
        values.output().setType(torch._C.TupleType([v.type() for v in shown]))
        call = _record_script().graph.findNode("prim::PythonOp")
        recording_node = graph.createClone(call, lambda value: none)
    values.insertAfter(node)
    for i, value in enumerate([*numbers, values.output()]):
        recording_node.replaceInput(i, value)
    recording_node.insertAfter(values)


def _signed(handle):
    return handle - 2**64 if handle >= 2**63 else handle


def _gives_tuples(node):
    """Returns the exporter unpacks a tuple that an `if` or a loop returns."""
    return any(True for _ in node.blocks()) and any(value.type().kind() == "TupleType" for value in node.outputs())


def _is_type_of_python(type_):
    """Returns whether Python has values of this type."""
    if type_.kind() in ("ClassType", "InterfaceType", "FutureType", "AwaitType", "GeneratorType") or holds_classes(type_):
        return False
    return all(map(_is_type_of_python, type_.containedTypes()))


def answer(subject, method, args, exact):
    """Returns the answer of the graph of a method from the model's state, in float64 if `exact`, with the seed of test vectors.

    Raises:
        ValueError: it has no float64 form
    """
    graph, inputs, narrow = subject.call(method, args, exact)
    scalar_operands(graph)
    if exact:
        widen(graph, narrow)
    return _run(graph, inputs, exact)


def trace(subject, method, args, exact):
    """Returns ([(handle, results), ...] sorted by handle and by time for equal handles, the answer) of a run."""
    graph, inputs, narrow = subject.call(method, args, exact)
    handles = Handles(sources=False)
    for node in handles.number(graph):
        _insert_recording(graph, node, handles.source(node)[4])
    scalar_operands(graph)
    if exact:
        widen(graph, narrow)
    recording = _current.recording = _Recorder()
    try:
        result = _run(graph, inputs, exact)
    finally:
        _current.recording = None
    return sorted(((h % 2**64, values) for h, values in recording.nodes), key=lambda item: item[0]), result


def _run(graph, inputs, exact):
    with torch.no_grad(), torch.random.fork_rng(devices=[]), double_by_default(exact):
        torch.manual_seed(1)  # of test vectors
        return torch._C._jit_interpret_graph(graph, tuple(inputs))
