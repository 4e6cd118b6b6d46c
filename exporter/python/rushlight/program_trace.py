"""What every node of an ExportedProgram gives in a run of PyTorch, by debug handle."""

import zlib

import torch
import torch.fx
from torch.utils import _pytree as pytree

# Their elements are whatever the memory held.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}


def handles_of(module):
    """{node: handle} of a GraphModule and those inside it: its number, counted from 1, and above that a
    fingerprint of all of them."""
    nodes = [n for inner in module.modules() if isinstance(inner, torch.fx.GraphModule) for n in inner.graph.nodes]
    high = zlib.crc32("\n".join(f"{n.op} {n.target}" for n in nodes).encode()) << 32
    return {n: high | i for i, n in enumerate(nodes, 1)}


def copied(value):
    """A value as it is now; None where it is none that can be compared."""
    leaves = pytree.tree_leaves(value)
    if not all(v is None or isinstance(v, (torch.Tensor, bool, int, float, complex, str)) for v in leaves):
        return None
    return pytree.tree_map(lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else v, value)


class Recorder(torch.fx.Interpreter):
    """Runs a graph and those inside it, and keeps (handle, results) of each call."""

    def __init__(self, module, handles, record):
        super().__init__(module, garbage_collect_values=True)
        self.handles, self.record = handles, record

    def run_node(self, node):
        value = super().run_node(node)
        if node.op == "call_function":
            several = list(value) if isinstance(value, (list, tuple)) else [value]
            name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
            self.record.append((self.handles[node], [] if name in UNINITIALISED else copied(several) or []))
        return value

    def fetch_attr(self, target):
        what = super().fetch_attr(target)
        if isinstance(what, torch.fx.GraphModule):
            return lambda *args: Recorder(what, self.handles, self.record).run(*args)
        return what


def trace(program, inputs):
    """[(handle, results)] of a run on these inputs, by rising handle, of one handle in the order of the run."""
    given = iter(pytree.tree_leaves(inputs))
    placeholders = []
    for spec in program.graph_signature.input_specs:
        kind = spec.kind.name
        if kind == "USER_INPUT":
            value = next(given)
        elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            value = program.state_dict.get(spec.target, program.constants.get(spec.target))
        else:
            raise ValueError(f"an input of kind {kind} cannot be traced")
        placeholders.append(copied(value))
    record = []
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # of test vectors
        Recorder(program.graph_module, handles_of(program.graph_module), record).run(*placeholders)
    return sorted(record, key=lambda item: item[0])
