"""nn.TransformerEncoder's fast path, as plain operators.

In evaluation mode without gradients, PyTorch runs the encoder in one operator. It then gives zeros where src_key_padding_mask hides
an item, if all hidden items are at the end. Since a trace cannot look into that operator, the encoder is traced without it, and
the zeros are added.
"""

import contextlib

import torch
from torch import nn

from .patch_attribute import patched_attribute

NOTE = ("the encoder{} gives zeros where src_key_padding_mask hides an item, as PyTorch's fast path does in evaluation mode without "
        "gradients; PyTorch gives other numbers there with gradients")


def _takes(encoder, src, mask, hidden):
    """Returns whether PyTorch takes the fast path for these arguments, apart from the order of the hidden items."""
    return (getattr(encoder, "use_nested_tensor", False) and not encoder.layers[0].training and hidden is not None and mask is None
            and src.dim() == 3 and not torch.is_autocast_enabled())


@contextlib.contextmanager
def disabled():
    """Fused attention and the fast path are off."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield enabled
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


@contextlib.contextmanager
def without_fast_path(model):
    """Disables the fast path. If the fast path was enabled, encoders give its zeros. The block receives a list of their names."""
    notes, before = [], nn.TransformerEncoder.forward
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

    with disabled() as enabled, patched_attribute(nn.TransformerEncoder, "forward", forward) if enabled else contextlib.nullcontext():
        yield notes
