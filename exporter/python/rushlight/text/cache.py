"""Keys and values of a decoder, as state of the exported program."""

import torch
from torch import Tensor, nn

from ..base.errors import unsupported

CACHES = {"past_key_values", "cache"}  # names of a model's argument. transformers 5 has the second one


class LayerCache(nn.Module):
    """Keys and values of one layer. The first run allocates them, so that a file has none. It is scripted, which keeps its sizes
    and branches in a trace."""

    keys: Tensor
    values: Tensor

    def __init__(self, length: int):
        super().__init__()
        self.length = length
        self.register_buffer("keys", torch.empty(0), persistent=False)
        self.register_buffer("values", torch.empty(0), persistent=False)

    def forward(self, keys: Tensor, values: Tensor, position: Tensor):
        """Writes keys and values [1, heads, tokens, features] from `position` on. Returns views of
        the keys and values of all tokens so far."""
        start = int(position)
        end = start + keys.size(2)
        if end > self.length:
            raise ValueError(f"the cache must have room for {end} tokens, but its length is {self.length}")
        if self.keys.numel() == 0:
            self.keys = torch.zeros([1, keys.size(1), self.length, keys.size(3)], dtype=keys.dtype)
            self.values = torch.zeros([1, values.size(1), self.length, values.size(3)], dtype=values.dtype)
        self.keys[:, :, start:end] = keys
        self.values[:, :, start:end] = values
        return self.keys[:, :, :end], self.values[:, :, :end]


def state_cache(rows, position):
    """Returns a transformers.Cache that writes into `rows`, one for each layer, from `position` on."""
    from transformers.cache_utils import Cache

    class StateCache(Cache):
        is_compileable = False
        is_sliding = (False,)

        def __init__(self):  # Cache's own would make caches of another kind
            self.layers = []

        def update(self, key_states, value_states, layer_idx, *_, **__):
            return rows[layer_idx](key_states, value_states, position)

        def get_seq_length(self, *_, **__):
            return 0

        def get_max_cache_shape(self, *_, **__):
            return None

    return StateCache()


def check_logits(model, got, want):
    """Refuses a model that gives other logits in several calls, `got`, than in one call, `want`."""
    distance = float((got - want).abs().max() / want.abs().max())
    if not distance < 1e-3:
        raise unsupported(f"{type(model).__name__} gives other logits when its tokens are passed in several calls: they differ by "
                          f"{distance:.2g} of the greatest. export_text() does not support this form of a cache")
