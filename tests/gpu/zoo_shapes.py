"""Language models with the widths and heads of known ones, random weights, few layers and small vocabularies."""

import torch
import transformers
from entry import Entry

VOCABULARY = 1024


def ids(n, batch=1):
    return torch.arange(batch * n).reshape(batch, n).mul(37).remainder(VOCABULARY - 8) + 4


def mini_lm():
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=1536, attn_implementation="sdpa")
    return transformers.BertModel(config, add_pooling_layer=False), {"input_ids": ids(16), "attention_mask": torch.ones(1, 16).long()}


def smol_lm2():
    config = transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=576, num_hidden_layers=2, num_attention_heads=9,
                                      num_key_value_heads=3, intermediate_size=1536, rope_theta=100000.0, rms_norm_eps=1e-5,
                                      tie_word_embeddings=True, use_cache=False, attn_implementation="sdpa")
    return transformers.LlamaForCausalLM(config), {"input_ids": ids(11)}


def whisper_tiny():
    config = transformers.WhisperConfig(vocab_size=VOCABULARY, d_model=384, encoder_layers=4, decoder_layers=4,
                                        encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536,
                                        decoder_ffn_dim=1536, max_source_positions=100, pad_token_id=0, bos_token_id=1,
                                        eos_token_id=2, decoder_start_token_id=3, use_cache=False, attn_implementation="sdpa")
    return transformers.WhisperModel(config), {"input_features": torch.randn(1, 80, 200), "decoder_input_ids": ids(5)}


MODELS = {"MiniLM": mini_lm, "SmolLM2": smol_lm2, "Whisper-tiny": whisper_tiny}


class Tensors(torch.nn.Module):
    """The first tensor of a model's answer. Its arguments are positional."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)))[0]


def make(name):
    model, inputs = MODELS[name]()
    return Entry(Tensors(model.eval(), list(inputs)), tuple(inputs.values()))
