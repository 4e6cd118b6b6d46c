"""Decoders that write text: what transformers calls CausalLM."""

import inspect

import torch
from torch import nn

from ..base.errors import unsupported
from .attention import attention_of, causal_mask
from .cache import CACHES, LayerCache, check_logits, state_cache
from .half_precision import computing
from .probe import WAY_OUT, random_tokens

KNOWN_LAYERS = {"full_attention", "sliding_attention"}


class Decoder(nn.Module):
    """A step of a decoder: takes tokens [1, n] and the position of the first one, and returns the logits [1, words] after the last
    one. Keys and values of earlier tokens are state."""

    def __init__(self, model, length):
        super().__init__()
        self.model = model
        layers = model.config.get_text_config().num_hidden_layers
        self.cache = nn.ModuleList(torch.jit.script(LayerCache(length)) for _ in range(layers))
        self.parameters_of_forward = frozenset(inspect.signature(model.forward).parameters)

    def forward(self, tokens, position):
        positions = position + torch.arange(tokens.size(1))
        arguments = {
            "attention_mask": causal_mask(position, tokens), "position_ids": positions[None], "cache_position": positions,
            **dict.fromkeys(CACHES, state_cache(self.cache, position)), "use_cache": True, "logits_to_keep": 1, "return_dict": True,
        }
        known = {name: value for name, value in arguments.items() if name in self.parameters_of_forward}
        with computing(self.model):
            return self.model(tokens, **known).logits[:, -1].float()


def check(model):
    """Refuses models that keep something else than keys and values."""
    import transformers

    name, config = type(model).__name__, model.config.get_text_config()
    parameters = inspect.signature(model.forward).parameters
    if getattr(model.config, "is_encoder_decoder", False):
        raise unsupported(f"{name} has an encoder and a decoder: export_text() takes decoders alone, such as those of AutoModelForCausalLM")
    if getattr(model.config, "vision_config", None) is not None or getattr(model.config, "audio_config", None) is not None:
        raise unsupported(f"{name} also takes images or audio: export_text() supports decoders of text only")
    others = set(getattr(config, "layer_types", None) or ()) - KNOWN_LAYERS
    if not parameters.keys() & CACHES or others or getattr(config, "attention_chunk_size", None):
        kinds = f" of the kinds {', '.join(sorted(others))}" if others else ""
        raise unsupported(f"{name} has layers{kinds} that keep other state than keys and values of all tokens: export_text() "
                          f"does not support them. {WAY_OUT}")
    if not getattr(model, "_supports_attention_backend", False):
        raise unsupported(f"{name} of transformers {transformers.__version__} does not take an attention function "
                          f"(_supports_attention_backend), which export_text() needs. A newer version may have it. {WAY_OUT}")


@torch.no_grad()
def compare(model, decoder, words, length):
    """Refuses a model whose logits differ when its tokens are passed in several calls."""
    tokens = random_tokens(words, min(24, length), model.config.get_text_config().pad_token_id)
    with attention_of(model):
        at, got = 0, []
        for piece in tokens.split([min(5, length), *[1] * (tokens.size(1) - min(5, length))], 1):
            got.append(decoder(piece, torch.tensor(at))[0])
            at += piece.size(1)
    with computing(model):
        want = model(tokens).logits[0, -len(got):].float()
    check_logits(model, torch.stack(got), want)
