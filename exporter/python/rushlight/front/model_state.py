"""A model before, during and after a run: its mode, its parameters and buffers, and copies of it."""

import contextlib
import copy
import dataclasses
import itertools

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ..base.lent_weights import LentWeights
from . import inputs, patches, trace_outputs


@contextlib.contextmanager
def evaluation_mode(model, train):
    """Disables gradients, and puts modules in evaluation mode unless `train` is true. The modes of all modules are restored at the end."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) and not train else []
    before = [m.training for m in modules]
    try:
        for m in modules:
            m.training = False
        with torch.no_grad():
            yield
    finally:
        for m, mode in zip(modules, before):
            m.training = mode


@dataclasses.dataclass
class _Saved:
    """A parameter or buffer before a run. `value`: a copy of its elements, or None if the run does not write them."""

    owner: dict
    name: str
    path: str
    tensor: torch.Tensor
    data: torch.Tensor
    value: torch.Tensor
    scripted: bool  # its module's code, which a trace keeps

    def has_other_data(self):
        now, before = self.tensor, self.data
        return now.layout == torch.strided and (now.data_ptr(), now.shape, now.dtype) != (before.data_ptr(), before.shape, before.dtype)

    def restore(self):
        self.owner[self.name] = self.tensor
        if self.has_other_data():
            self.tensor.data = self.data
        if self.value is not None:
            self.data.copy_(self.value)


def _saved_tensors(model, only_read):
    modules = model.named_modules() if isinstance(model, torch.nn.Module) else ()
    for path, m in modules:
        for owner in (m._parameters, m._buffers):
            for name, t in owner.items():
                # A tensor subclass that wraps others may not be copyable.
                if t is not None and not is_traceable_wrapper_subclass(t):
                    value = None if t in only_read else t.detach().clone()
                    yield _Saved(owner, name, f"{path}.{name}".lstrip("."), t, t.data, value, isinstance(m, torch.jit.ScriptModule))


@contextlib.contextmanager
def restored_state(model, only_read=()):
    """Restores parameters and buffers after a run, which may write them. It writes no elements of `only_read`. After an error, it also
    restores forward hooks, which the run may not have reached to remove.

    Yields a list and a dict that are filled when the run ends without an error: paths of tensors that the model replaced by others,
    and {path: data} of tensors whose data it replaced. A trace does not show either, except in scripted modules.
    """
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    hooks = [(owner, dict(owner)) for m in modules for name, owner in vars(m).items() if name in ("_forward_hooks", "_forward_pre_hooks")]
    saved = list(_saved_tensors(model, only_read))
    replaced, new_data = [], {}
    try:
        yield replaced, new_data
        for s in (s for s in saved if not s.scripted):
            if s.name not in s.owner or s.owner[s.name] is not s.tensor:
                replaced.append(s.path)
            elif s.has_other_data():
                new_data[s.path] = s.tensor.data
    except BaseException:
        for owner, before in hooks:
            owner.clear()
            owner.update(before)
        raise
    finally:
        for s in saved:
            s.restore()


def copied(model, memo=None):
    """Returns a deep copy of a module, which shares values that cannot be copied, such as a lock, with it.

    `memo`: {id of a tensor: the tensor in the copy}, by default a copy.
    """
    if not isinstance(model, torch.nn.Module):
        return model
    memo = dict(memo or {})
    try:
        return copy.deepcopy(model, dict(memo))
    except Exception:  # __deepcopy__ and __reduce__ raise errors of many types
        memo |= {id(value): value for m in model.modules() for name, value in vars(m).items()
                 if name not in ("_modules", "_parameters", "_buffers") and not _can_be_copied(value)}
    try:
        return copy.deepcopy(model, memo)
    except RuntimeError:  # a weight that is the result of an operator
        return model


def _can_be_copied(value):
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True


def reference_of(model, train, names=None):
    """Returns the Reference of a model, whose calls have arguments with these names, as inputs.positional gives them."""
    return Reference(model, train, lambda fresh, method, args: inputs.call(fresh, method, args, names))


class Reference:
    """Calls of a model from its present state, even if a trace changes attributes later. Each run has a copy of the model.

    Args:
        call: takes a copy of the model, a method and its arguments
    """

    def __init__(self, model, train, call):
        self._train, self._call = train, call
        is_module = isinstance(model, torch.nn.Module)
        self.lent = LentWeights(dict(model.named_parameters()) if is_module else {})
        weights = itertools.chain(model.parameters(), model.buffers()) if is_module else ()
        with patches.applied(model, patches.RUN):
            self._first = copied(model, {id(t): t for t in weights})

    def __call__(self, method, args):
        """Returns the answer to a call."""
        return self.answers([(method, args)])[0]

    def probe(self, calls):
        """Finds out whether the model writes its large weights during calls [(method, args), ...]."""
        self.lent.probe(lambda aliases: self._run(copy.deepcopy(calls), aliases))

    def answers(self, calls):
        """Returns the answers to calls [(method, args), ...], one after the other."""
        return self.lent.run(lambda aliases: self._run(calls, aliases))

    def _run(self, calls, aliases):
        fresh = copied(self._first, aliases)
        with patches.applied(fresh, patches.RUN), evaluation_mode(fresh, self._train):
            return [trace_outputs.plain(self._call(fresh, method, args)) for method, args in calls]
