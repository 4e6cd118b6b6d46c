"""Records the operators that PyTorch calls."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class _Recorder(TorchDispatchMode):
    """Keeps the tensors of calls of the operators `wanted`."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted, self.calls = wanted, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        op = function._schema.name
        if op in self.wanted:
            self.calls.append((op, *_tensors_of(args)))
        return function(*args, **(kwargs or {}))


def _tensors_of(args):
    """Returns (copies of all tensors, index of the first one of a list)."""
    tensors, indices = [], 0
    for arg in args:
        if isinstance(arg, (list, tuple)):
            indices = len(tensors)
        tensors += [item.detach().clone() for item in (arg if isinstance(arg, (list, tuple)) else [arg]) if isinstance(item, torch.Tensor)]
    return tensors, indices


def calls_during(run, wanted):
    """Returns the calls of operators during run(), but not those inside of other operators: [(operator without overload, tensors,
    index of the first tensor of a list), ...]. Tensors are copies.

    PyTorch shows an operator that is a composition of others only if it records no gradients. A model that computes gradients itself
    shows the parts of such operators.
    """
    wanted = set(wanted)
    try:
        with _Recorder(wanted) as recorder, torch._C._AutoDispatchBelowAutograd():
            run()
    except RuntimeError:
        with _Recorder(wanted) as recorder:
            run()
    return recorder.calls
