"""Runs an ExportedProgram in PyTorch node by node, and records the result of each by its debug handle."""

import contextlib
import copy
import operator
import zlib

import torch
import torch.fx
from torch.utils import _pytree as pytree

from ..base.errors import unsupported
from ..base.lock import PYTORCH_LOCK
from .higher_order import SCANS, is_higher_order, name_of, scan, scan_arguments

# Operators whose results are uninitialized memory.
UNINITIALIZED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_"}

# Operators that write a part of a copy of their first argument.
SCATTERS = {"select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter", "index_put"}

# Operators that write all elements of their first argument.
WHOLE = {"fill_", "zero_", "copy_", "normal_", "uniform_", "random_"}


def handles_of(module):
    """Returns {node: handle} of a GraphModule and the graphs inside it.

    The lower half of a handle is the number of the node, from 1. The upper half is a checksum of all nodes. Dead nodes, which
    ExportedProgram.module() removes, have the handle 0.
    """
    graphs = [inner.graph for inner in module.modules() if isinstance(inner, torch.fx.GraphModule)]
    dead = {n for graph in graphs for n in dead_nodes(graph)}
    nodes = [n for graph in graphs for n in graph.nodes if n not in dead]
    high = zlib.crc32("\n".join(f"{n.op} {n.target}" for n in nodes).encode()) << 32
    return {**dict.fromkeys(dead, 0), **{n: high | i for i, n in enumerate(nodes, 1)}}


def dead_nodes(graph):
    """Returns the nodes that Graph.eliminate_dead_code removes."""
    dead = set()
    for node in reversed(graph.nodes):
        if not node.is_impure() and dead.issuperset(node.users):
            dead.add(node)
    return dead


def copied(value):
    """Returns a copy of a value; None if it cannot be compared."""
    leaves = pytree.tree_leaves(value)
    if not all(v is None or isinstance(v, (torch.Tensor, bool, int, float, complex, str)) for v in leaves):
        return None
    if any(isinstance(v, torch.Tensor) and v.is_quantized for v in leaves):
        return None
    return pytree.tree_map(lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v, value)


def results_of(node, value):
    """Returns the results of a node, one for each of its schema; None for a result that no node uses.

    Unused results are not compared: if two elements are nearly equal, an index may differ.
    """
    schema = getattr(node.target, "_schema", None)
    if not isinstance(value, (list, tuple)) or (schema is not None and len(schema.returns) == 1):
        return [value]
    picked = {u.args[1] for u in node.users if u.target is operator.getitem}
    return [v if k in picked or len(picked) < len(node.users) else None for k, v in enumerate(value)]


def wide(value):
    """Returns float64 or complex128 for a floating-point or complex dtype; a tensor is cast to it."""
    if isinstance(value, torch.Tensor):
        return value.to(wide(value.dtype))
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return torch.complex128 if isinstance(value, torch.dtype) and value.is_complex else value


@contextlib.contextmanager
def double_by_default(on):
    """Tensors that are created without a dtype are float64 meanwhile, if `on`."""
    with PYTORCH_LOCK:
        before = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64 if on else before)
            yield
        finally:
            torch.set_default_dtype(before)


def _linear(input, weight, bias=None):
    """Returns a linear layer that converts few rows of its weight at a time."""
    rows = weight.split(max(1, (1 << 22) // max(1, weight.shape[1])))
    out = torch.cat([input.matmul(wide(part).t()) for part in rows], -1)
    return out if bias is None else out + wide(bias)


def _embedding(weight, *args, **kwargs):
    return wide(torch.ops.aten.embedding.default(weight, *args, **kwargs))


# {operator: (argument that is a weight, the operator for a weight that keeps its dtype)}
_BY_ROWS = {torch.ops.aten.linear.default: (1, _linear), torch.ops.aten.embedding.default: (0, _embedding)}


class Runner(torch.fx.Interpreter):
    """Runs a graph, in float64 if `exact`. `narrow`: {id: weight} of weights that the graph only reads. They keep their dtype until
    they are used."""

    def __init__(self, module, exact, narrow):
        super().__init__(module, garbage_collect_values=True)
        self.exact, self.narrow, self.widened = exact, narrow, {}

    def call_function(self, target, args, kwargs):
        if self.exact:
            if target is torch.ops.aten.view.dtype:
                raise unsupported("the program reads the bits of numbers (view)")
            if target in _BY_ROWS and self.is_narrow(args[_BY_ROWS[target][0]]):
                return _BY_ROWS[target][1](*args, **kwargs)
            args, kwargs = pytree.tree_map_only(torch.dtype, wide, (args, kwargs))
            args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: wide(t) if self.is_narrow(t) else t, (args, kwargs))
        if is_higher_order(target) and name_of(target) in SCANS:
            return scan(*scan_arguments(name_of(target), args))
        return super().call_function(target, args, kwargs)

    def is_narrow(self, tensor):
        return id(tensor) in self.narrow

    def inner(self, module):
        """Returns a runner for a graph inside this one."""
        return Runner(module, self.exact, self.narrow)

    def fetch_attr(self, target):
        what = super().fetch_attr(target)
        if isinstance(what, torch.fx.GraphModule):
            return lambda *args: self.inner(what).run(*args)
        if self.exact and isinstance(what, torch.Tensor) and not self.is_narrow(what):
            return self.widened.setdefault(target, wide(what))  # it may be written
        return what


class UninitializedStorages:
    """Storages with uninitialized elements. References keep them alive, so that no other storage gets the same address."""

    def __init__(self):
        self.storages = {}

    def __contains__(self, value):
        return isinstance(value, torch.Tensor) and value.layout == torch.strided and value.untyped_storage().data_ptr() in self.storages

    def follow(self, name, args, value):
        """Adds or removes the storage of the result of an operator with this name and these arguments."""
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            return
        storage = value.untyped_storage()
        if name in UNINITIALIZED or (name in SCATTERS and args[0] in self):
            self.storages[storage.data_ptr()] = storage
        elif name in WHOLE and value.is_contiguous() and value.nbytes == storage.nbytes():
            self.storages.pop(storage.data_ptr(), None)


class Recorder(Runner):
    """Runs a graph and the graphs inside it, and records (handle, results) of each call."""

    def __init__(self, module, handles, record, exact, narrow, open_=None):
        super().__init__(module, exact, narrow)
        self.handles, self.record, self.open = handles, record, UninitializedStorages() if open_ is None else open_

    def inner(self, module):
        return Recorder(module, self.handles, self.record, self.exact, self.narrow, self.open)

    def call_function(self, target, args, kwargs):
        value = super().call_function(target, args, kwargs)
        self.open.follow(getattr(getattr(target, "overloadpacket", None), "__name__", ""), args, value)
        return value

    def run_node(self, node):
        value = super().run_node(node)
        if node.op == "call_function" and self.handles[node]:
            self.record.append((self.handles[node], [] if value in self.open else copied(results_of(node, value)) or []))
        return value


def _narrow(aliases):
    return {id(weight): weight for weight in aliases.values()}


def answer(program, inputs, exact, aliases):
    """Returns the result of the program's graph for these inputs, in float64 if `exact`.

    `aliases`: as LentWeights.run gives them.
    """
    module = copy.deepcopy(program.module(), dict(aliases))
    leaves = copy.deepcopy([v.detach() if isinstance(v, torch.Tensor) else v for v in pytree.tree_leaves(inputs)])
    with torch.no_grad(), torch.random.fork_rng(devices=[]), double_by_default(exact):
        torch.manual_seed(1)  # of test vectors
        return Runner(module, exact, _narrow(aliases)).run(*(map(wide, leaves) if exact else leaves))


def trace(program, inputs, exact, aliases):
    """Returns [(handle, results)] of a run on these inputs, in float64 if `exact`. Sorted by handle, and by time for equal handles.

    `aliases`: as in answer().
    """
    given = iter(pytree.tree_leaves(inputs))
    placeholders = []
    for spec in program.graph_signature.input_specs:
        kind = spec.kind.name
        if kind == "USER_INPUT":
            value = next(given)
        elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            value = program.state_dict.get(spec.target, program.constants.get(spec.target))
        else:
            raise unsupported(f"cannot trace an input of kind {kind}")
        placeholders.append(value)
    with torch.no_grad():  # tensors that share their elements still do
        narrow = _narrow(aliases)
        placeholders = [aliases[id(v)] if id(v) in aliases else v.detach() if isinstance(v, torch.Tensor) else v for v in placeholders]
        placeholders = copy.deepcopy(placeholders, dict(narrow))
    if exact:
        placeholders = [v if id(v) in narrow else wide(v) for v in placeholders]
    record = []
    with torch.no_grad(), torch.random.fork_rng(devices=[]), double_by_default(exact):
        torch.manual_seed(1)  # of test vectors
        Recorder(program.graph_module, handles_of(program.graph_module), record, exact, narrow).run(*placeholders)
    return sorted(record, key=lambda item: item[0])
