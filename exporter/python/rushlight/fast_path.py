"""PyTorch's fast path of nn.TransformerEncoder: in evaluation mode without gradients it gives zeros where src_key_padding_mask
hides an item, if these stand behind all others. It has no operators of its own, so that a trace goes without it."""

import contextlib

import torch
from torch import nn

NOTE = ("the encoder{} gives zeros where src_key_padding_mask hides an item, as PyTorch's fast path does in evaluation mode without "
        "gradients; otherwise PyTorch gives numbers there")


def _takes(encoder, src, mask, hidden):
    """Whether it does so for these arguments; PyTorch's own conditions, but for where the hidden items stand."""
    return (getattr(encoder, "use_nested_tensor", False) and not encoder.layers[0].training and hidden is not None and mask is None
            and src.dim() == 3 and not torch.is_autocast_enabled())


@contextlib.contextmanager
def opened(model):
    """Has encoders give these zeros while they are traced without the fast path, if PyTorch's switch of it is on. Gives a list
    that names them."""
    enabled, before, notes = torch.backends.mha.get_fastpath_enabled(), nn.TransformerEncoder.forward, []
    names = {m: name for name, m in model.named_modules()} if isinstance(model, nn.Module) else {}

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        if not _takes(self, src, mask, src_key_padding_mask):
            return before(self, src, mask, src_key_padding_mask, is_causal)
        notes.append(NOTE.format(f" '{names[self]}'" if names.get(self) else ""))
        items = src_key_padding_mask.logical_not()
        in_front = torch.arange(items.shape[1], device=items.device) < items.sum(1, keepdim=True)
        if getattr(self, "mask_check", True):
            zeros = items.logical_not() & torch.all(in_front == items)
        else:  # PyTorch counts the items alone
            zeros = src_key_padding_mask = in_front.logical_not()
        norm, self.norm = self.norm, None
        try:
            output = before(self, src, mask, src_key_padding_mask, is_causal)
        finally:
            self.norm = norm
        output = output.masked_fill(zeros.unsqueeze(-1), 0.0)
        return output if norm is None else norm(output)

    if enabled:
        nn.TransformerEncoder.forward = forward
    try:
        yield notes
    finally:
        nn.TransformerEncoder.forward = before
