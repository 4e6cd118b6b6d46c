"""The description of a model in a zoo, and random weights whose answers are worth comparing."""

import dataclasses
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402


@dataclasses.dataclass
class Entry:
    """A model in evaluation mode, and the inputs for it."""

    model: torch.nn.Module
    inputs: object  # a tuple, or a dict by name
    ways: tuple = ("traced", "torch.export", "scripted")  # in the order of attempts
    prepare: object = None  # called with the entry after its norms have statistics

    def arguments(self):
        """Returns (positional arguments, {name: argument})."""
        return ((), self.inputs) if isinstance(self.inputs, dict) else (tuple(self.inputs), {})

    def answer(self, model=None):
        args, named = self.arguments()
        with torch.no_grad():
            return (model or self.model)(*args, **named)


def tensors_of(value):
    return [v for v in pytree.tree_leaves(value) if isinstance(v, torch.Tensor)]


def settled(entry):
    """Returns the entry's model with weights as after training. Constant parameters get noise: heads, gates and scales start
    at 0 or at 1e-6. Norms get the statistics of these inputs."""
    model = entry.model.eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.is_floating_point() and p.numel() > 1 and bool((p == p.flatten()[0]).all()):
                p.add_(torch.randn_like(p), alpha=0.1 if p.dim() < 2 else p[0].numel() ** -0.5)
    norms = [m for m in model.modules() if isinstance(getattr(m, "running_var", None), torch.Tensor)]
    hooks = [m.register_forward_pre_hook(_take_statistics) for m in norms]
    if hooks:
        entry.answer()
    for hook in hooks:
        hook.remove()
    if entry.prepare:
        entry.prepare(entry)
    return entry


def _take_statistics(norm, args):
    x = args[0]
    if x.dim() < 2 or x.size(1) != norm.running_var.numel():
        return
    of_channels = x.transpose(0, 1).flatten(1)
    few = of_channels.size(1) < 8  # no running statistics, so those of all channels together
    norm.running_var.copy_(x.square().mean() if few else of_channels.var(1))
    norm.running_var.clamp_(min=1e-3)
    if getattr(norm, "running_mean", None) is not None:
        norm.running_mean.copy_(torch.zeros(()) if few else of_channels.mean(1))
