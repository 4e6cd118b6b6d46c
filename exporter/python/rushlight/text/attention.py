"""Attention of a decoder over the rows that are in its cache."""

import contextlib
import math

import torch
import torch.nn.functional as F
from torch import Tensor

NAME = "rushlight"


@torch.jit.script
def causal_mask(position: Tensor, tokens: Tensor) -> Tensor:
    """Returns which rows [1, 1, tokens, position + tokens] each token attends to. `tokens` [1, n] are from `position` on."""
    start, n = int(position), tokens.size(1)
    return torch.ones([n, start + n], dtype=torch.bool).tril(start)[None, None]


@torch.jit.script
def windowed(mask: Tensor, window: int) -> Tensor:
    """Returns the mask without rows that are `window` tokens back or more."""
    return mask.triu(mask.size(3) - mask.size(2) - window + 1)


def _masked(mask, scores):
    """Returns the scores, or T5's bias of relative positions, without what the mask hides."""
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask


def attention(module, query, key, value, attention_mask, scaling=None, sliding_window=None, softcap=None, s_aux=None,
              position_bias=None, **_):
    """Returns an attention function, in the form that transformers takes."""
    if sliding_window is not None:
        attention_mask = windowed(attention_mask, sliding_window)
    if position_bias is not None:
        attention_mask = _masked(attention_mask, position_bias)
    groups = getattr(module, "num_key_value_groups", 1)
    if softcap is None and s_aux is None:
        out = F.scaled_dot_product_attention(query, key, value, attention_mask, scale=scaling, enable_gqa=groups > 1)
        return out.transpose(1, 2).contiguous(), None
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(2, 3) * (1 / math.sqrt(query.size(3)) if scaling is None else scaling)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    scores = _masked(attention_mask, scores)
    if s_aux is not None:  # a score for attending to nothing
        scores = torch.cat([scores, s_aux.reshape(1, -1, 1, 1).expand(-1, -1, scores.size(2), -1)], 3)
    weights = scores.softmax(3, dtype=torch.float32).to(value.dtype)
    return (weights[..., :key.size(2)] @ value).transpose(1, 2).contiguous(), None


@contextlib.contextmanager
def attention_of(model):
    """Makes the model use this attention function."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(NAME, attention)
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}.values()
    # Gemma's layers of transformers 4.52 also cut the mask.
    layers = [module for module in model.modules() if hasattr(module, "self_attn") and getattr(module, "is_sliding", False)]
    before = [(config, config._attn_implementation) for config in configs]
    try:
        for config in configs:
            config._attn_implementation = NAME
        for layer in layers:
            layer.is_sliding = False
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation = implementation
        for layer in layers:
            layer.is_sliding = True
