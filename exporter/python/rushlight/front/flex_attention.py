"""flex_attention as plain operators on all scores at once. PyTorch's own compiles itself, which a trace cannot record."""

import contextlib
import math
import sys

import torch

from .patch_attribute import patched_attribute


@contextlib.contextmanager
def traced_flex_attention(model):
    """flex_attention runs as plain operators. Nothing happens if no one has imported it."""
    module = sys.modules.get("torch.nn.attention.flex_attention")
    if module is None:
        yield
        return
    block_mask = module._create_empty_block_mask(torch.empty(0), torch.empty(0))  # it uses vmap, which cannot be traced
    operator = _flex_attention_with_maxima if hasattr(module, "AuxOutput") else _flex_attention  # newer torch also returns the maxima
    with patched_attribute(module, "flex_attention_hop", operator), \
            patched_attribute(module, "_create_empty_block_mask", lambda query, key: block_mask), \
            patched_attribute(torch, "compile", lambda function, **options: function):
        yield


def _flex_attention_with_maxima(query, key, value, score_mod, block_mask, scale, kernel_options):
    """torch._higher_order_ops.flex_attention.math_attention, with score_mod and mask_mod applied to all scores at once.

    Both functions take one score and its four indices. They consist of pointwise operators and indexing, so they also work on
    tensors that broadcast.
    """
    grouped = query.unflatten(1, (key.size(1), -1))  # [batch, key heads, query heads per key head, length, width]
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = ((grouped @ key.unsqueeze(2).transpose(-2, -1)).flatten(1, 2) * scale).to(wide)
    places = [torch.arange(scores.size(d)).view([-1] + [1] * (3 - d)) for d in range(4)]
    scores = torch.where(block_mask[-1](*places), score_mod(scores, *places), -math.inf)
    hidden = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.where(hidden, 0.0, torch.softmax(scores, -1)).to(query.dtype)
    out = weights.unflatten(1, (key.size(1), -1)) @ value.unsqueeze(2)
    return out.flatten(1, 2), torch.logsumexp(scores, -1) / math.log(2), torch.amax(scores, -1) / math.log(2)


def _flex_attention(*args):
    return _flex_attention_with_maxima(*args)[:2]
