"""Models with an encoder and a decoder of text, such as T5, BART and Marian. docs/design/text.md describes their files."""

import inspect

import torch
from torch import Tensor, nn

from .attention import attention_of
from .cache import CACHES, LayerCache, check_logits
from .half_precision import computing
from .probe import random_tokens

_LEAST = torch.finfo(torch.float32).min


class CrossAttentionState(nn.Module):
    """Cross keys and values of one layer, which encode() writes and forward() reads. It is scripted, so that a trace keeps the number
    of rows."""

    keys: Tensor
    values: Tensor

    def __init__(self, keys: Tensor, values: Tensor):
        super().__init__()
        self.register_buffer("keys", torch.zeros_like(keys[:, :, :1]), persistent=False)
        self.register_buffer("values", torch.zeros_like(values[:, :, :1]), persistent=False)

    def forward(self, keys: Tensor, values: Tensor):
        self.keys, self.values = keys.contiguous(), values.contiguous()
        return self.keys, self.values

    @torch.jit.export
    def read(self):
        return self.keys, self.values


@torch.jit.script
def decoder_mask(position: Tensor, tokens: Tensor, least: float) -> Tensor:
    """Returns what is added to the scores [1, 1, tokens, position + tokens] of each token: 0 for the tokens before it, else `least`."""
    start, n = int(position), tokens.size(1)
    return torch.full([n, start + n], least).triu(start + 1)[None, None]


class Seq2Seq(nn.Module):
    """The methods of the file."""

    def __init__(self, model, length):
        super().__init__()
        self.model = model
        self._prepare()
        cross_states = _cross_attention_of(model, self._states(self.example()))
        self.cross = nn.ModuleList(torch.jit.script(CrossAttentionState(*layer)) for layer in cross_states)
        self.cache = nn.ModuleList(torch.jit.script(LayerCache(length)) for _ in cross_states)

    def _prepare(self):
        """Adds what _states() needs."""

    def example(self):
        """Returns an input of encode()."""
        return torch.tensor([[3, 5, 4, 7, 1]])

    def encode(self, tokens):
        """Takes tokens [1, n], keeps the cross keys and values, and returns the mean of the encoder's states."""
        states = self._states(tokens)
        for layer, cross_states in zip(self.cross, _cross_attention_of(self.model, states)):
            layer(*cross_states)
        return states.mean(1)

    def forward(self, tokens, position):
        """Takes tokens [1, n] and the position of the first one, and returns the logits [1, words] after the last one."""
        return self._decoded(tokens, position).logits[:, -1].float()

    def _states(self, tokens):
        return self._encoded(tokens)

    def _encoded(self, inputs):
        with computing(self.model):
            return self.model.get_encoder()(inputs, return_dict=True)[0]

    def _decoded(self, tokens, position, **more):
        read = [layer.read() for layer in self.cross]
        own = _self_attention_cache(lambda keys, values, i: self.cache[i](keys, values, position), position)
        cache = _encoder_decoder_cache(own, _cross_attention_cache(read))
        return _run(self.model, torch.zeros(1, 1, _width(self.model)), tokens, cache, position,
                    decoder_attention_mask=decoder_mask(position, tokens, _LEAST), **more)


def _width(model):
    return model.config.d_model


def _run(model, states, tokens, cache, position, **more):
    from transformers.modeling_outputs import BaseModelOutput

    caches = dict.fromkeys(CACHES & inspect.signature(model.forward).parameters.keys(), cache)
    with computing(model):
        return model(encoder_outputs=BaseModelOutput(last_hidden_state=states), decoder_input_ids=tokens, **caches,
                     cache_position=position + torch.arange(tokens.size(1)), use_cache=True, return_dict=True, **more)


def _cross_attention_of(model, states):
    """Returns the cross keys and values of all layers. The decoder computes them for its first token, whose other results are unused."""
    found = {}

    def keep(keys, values, i):
        found[i] = keys, values
        return keys, values

    own = _self_attention_cache(lambda keys, values, i: (keys, values), 0)
    cache = _encoder_decoder_cache(own, _self_attention_cache(keep, 0), known=False)
    _run(model, states, torch.ones(1, 1, dtype=torch.int64), cache, 0, decoder_attention_mask=torch.zeros(1, 1, 1, 1))
    return [found[i] for i in sorted(found)]


def _cache_classes():
    """Returns the base classes of caches, which transformers has."""
    from transformers.cache_utils import Cache, EncoderDecoderCache

    return Cache, EncoderDecoderCache


def _self_attention_cache(update, position):
    """Returns a cache that calls `update` with keys, values and the number of the layer."""
    class CallbackCache(_cache_classes()[0]):
        is_compileable = False

        def __init__(self):  # Cache's own would make caches of another kind
            self.layers = []

        def update(self, key_states, value_states, layer_idx, *_, **__):
            return update(key_states, value_states, layer_idx)

        def get_seq_length(self, *_, **__):
            return position

        def get_max_cache_shape(self, *_, **__):
            return None

    return CallbackCache()


class _Layer:
    def __init__(self, keys, values):
        self.keys, self.values = keys, values


def _cross_attention_cache(read):
    cache = _self_attention_cache(None, 0)
    cache.layers = [_Layer(*layer) for layer in read]
    cache.key_cache, cache.value_cache = zip(*read)  # of transformers 4.52
    return cache


def _encoder_decoder_cache(own, cross, known=True):
    """Returns the cache of a decoder. `known`: its layers read `cross`; otherwise they compute it."""
    class DecoderCache(_cache_classes()[1]):
        is_compileable = False

        def __init__(self):
            self.self_attention_cache, self.cross_attention_cache = own, cross
            self.is_updated = dict.fromkeys(range(len(cross.layers)), True) if known else {}

        def get_seq_length(self, *_, **__):
            return own.get_seq_length()

    return DecoderCache()


COMPARED = 9  # tokens


@torch.no_grad()
def compare(model, methods, words):
    """Refuses a model whose logits differ when an input is encoded once and its tokens are passed in several calls."""
    tokens = random_tokens(words, COMPARED, model.config.pad_token_id)
    inputs = methods.example()
    with attention_of(model):
        methods.encode(inputs)
        got = [methods(tokens[:, :4], torch.tensor(0))]
        got += [methods(tokens[:, i:i + 1], torch.tensor(i)) for i in range(4, COMPARED)]
        states = methods._states(inputs)
    want = _run(model, states, tokens, None, torch.tensor(0)).logits[0, 3:].float()
    check_logits(model, torch.cat(got), want)
