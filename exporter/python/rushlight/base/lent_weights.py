"""Large weights that copies of a model share with it, because a run has shown that the model only reads them."""

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .errors import RushlightError
from .values import has_memory

_LARGE = 1 << 20  # bytes of a weight
_WORTH_A_RUN = 1 << 26  # bytes of all of them


class LentWeights:
    """The large weights among some parameters. A copy shares them with the model after a run in which the model wrote none.

    Args:
        parameters: {path: parameter} of the model
    """

    def __init__(self, parameters):
        large = {id(p): (path, p) for path, p in parameters.items() if _is_large(p)}
        self._wanted = large if sum(p.nbytes for _, p in large.values()) >= _WORTH_A_RUN else {}
        self._lent = {}

    def __contains__(self, tensor):
        return id(tensor) in self._lent

    def probe(self, run):
        """Lends the weights if a run neither writes them nor fails.

        Args:
            run: runs the model with these parameters, {id: parameter}, in place of the model's
        """
        if not self._wanted:
            return
        with torch.random.fork_rng(devices=[]), _WriteGuard(p for _, p in self._wanted.values()) as writes:
            try:
                run(_aliases(self._wanted))
            except Exception:  # the model raises errors of many types, and another run will raise them again
                return
        if not writes.seen:
            self._lent = self._wanted

    def run(self, function):
        """Returns the result of a function, which takes {id: parameter} as in probe().

        Raises:
            RushlightError: it wrote a lent weight
        """
        versions = {key: p._version for key, (_, p) in self._lent.items()}
        try:
            return function(_aliases(self._lent))
        finally:
            for key, (path, p) in self._lent.items():
                if p._version != versions[key]:
                    raise RushlightError("bad-argument", f"the model wrote its weight {path} for some inputs and not for the example: load "
                                         "the weights again, and give example inputs with which it writes them")


def _is_large(parameter):
    return (type(parameter) is torch.nn.Parameter and type(parameter.data) is torch.Tensor and parameter.nbytes >= _LARGE
            and parameter.device.type == "cpu" and parameter.layout == torch.strided and has_memory(parameter))


def _aliases(weights):
    """Returns {id: new parameter with the same elements}. A run that gives a new parameter other data leaves the model's as it is."""
    out = {}
    for key, (_, p) in weights.items():
        out[key] = torch.nn.Parameter(p.detach(), p.requires_grad)
        out[key].__dict__.update(p.__dict__)
    return out


class _WriteGuard(TorchDispatchMode):
    """Raises an error before an operator writes one of some tensors, or a view of it."""

    def __init__(self, tensors):
        super().__init__()
        self.seen, self._storages = False, {t.untyped_storage()._cdata for t in tensors}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for i, argument in enumerate(function._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self._check(args[i] if i < len(args) else kwargs.get(argument.name))
        return function(*args, **kwargs)

    def _check(self, written):
        for t in pytree.tree_leaves(written):
            if isinstance(t, torch.Tensor) and t.layout == torch.strided and t.untyped_storage()._cdata in self._storages:
                self.seen = True
                raise RuntimeError("the model writes a weight")
