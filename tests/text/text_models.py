"""Small models of transformers with random weights, and a tokenizer of bytes."""

import types

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TEMPLATE = ("{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
            "{% if add_generation_prompt %}assistant:{% endif %}")
SIZES = {"vocab_size": 258, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 257, "bos_token_id": 256, "eos_token_id": 256}

# In transformers 4.52, a window of one layer of Qwen2 hides rows from all layers, and Gemma 3 makes numbers of the mask.
OLD = tuple(map(int, transformers.__version__.split(".")[:2])) < (4, 53)
DECODERS = {
    "Llama": lambda c: c(**SIZES),
    "Qwen2": lambda c: c(**SIZES, use_sliding_window=True, sliding_window=8, max_window_layers=0 if OLD else 1),
    "Qwen3": lambda c: c(**SIZES, head_dim=8),
    "Gemma2": lambda c: c(**SIZES, head_dim=8, sliding_window=8),
    "Gemma3Text": lambda c: c(**SIZES, head_dim=8, sliding_window=8, layer_types=["sliding_attention", "full_attention"]),
    "Phi3": lambda c: c(**SIZES),
    "Mistral": lambda c: c(**SIZES, sliding_window=8),
    "GPT2": lambda c: c(vocab_size=258, n_embd=48, n_layer=2, n_head=6, n_positions=64, bos_token_id=256, eos_token_id=256),
}
if OLD:
    del DECODERS["Gemma3Text"]


def decoder(name):
    config = DECODERS[name](getattr(transformers, f"{name}Config"))
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def tokenizer():
    """Returns a tokenizer with a token for each byte, an end and a padding."""
    letters = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(letters, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    out = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>")
    out.chat_template = TEMPLATE
    return out


_BART = {"vocab_size": 258, "d_model": 48, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 6,
         "decoder_attention_heads": 6, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64, "pad_token_id": 257,
         "bos_token_id": 256, "eos_token_id": 256, "decoder_start_token_id": 256, "forced_eos_token_id": None}
SEQ2SEQ = {
    "T5": ("ForConditionalGeneration", {"vocab_size": 258, "d_model": 48, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 6,
                                        "decoder_start_token_id": 257, "pad_token_id": 257, "eos_token_id": 256}),
    "Bart": ("ForConditionalGeneration", _BART), "MBart": ("ForConditionalGeneration", _BART), "Marian": ("MTModel", _BART),
    "Pegasus": ("ForConditionalGeneration", _BART), "M2M100": ("ForConditionalGeneration", {**_BART, "pad_token_id": 1}),
}


def seq2seq(name, **more):
    kind, sizes = SEQ2SEQ[name]
    return _spread(getattr(transformers, name + kind)(getattr(transformers, f"{name}Config")(**{**sizes, **more})))


GENERATION = {
    "alignment_heads": [[0, 1], [1, 2]], "lang_to_id": {"<|en|>": 259, "<|de|>": 260}, "task_to_id": {"transcribe": 261, "translate": 262},
    "no_timestamps_token_id": 263, "is_multilingual": True, "suppress_tokens": [7], "begin_suppress_tokens": [8],
}


def whisper():
    config = transformers.WhisperConfig(
        **{**_BART, "vocab_size": 300, "decoder_start_token_id": 258}, num_mel_bins=16, max_source_positions=50, max_target_positions=48,
        suppress_tokens=None, begin_suppress_tokens=None)
    # Only this attention gives generate() the weights from which it computes the times of tokens.
    model = _spread(transformers.WhisperForConditionalGeneration._from_config(config, attn_implementation="eager"))
    for name, value in GENERATION.items():
        setattr(model.generation_config, name, value)
    return model


def whisper_processor():
    return types.SimpleNamespace(tokenizer=tokenizer(), feature_extractor=_whisper_extractor())


def whisper_features(samples):
    """Returns the spectrogram that `whisper` reads."""
    return _whisper_extractor()(samples.numpy(), sampling_rate=16000, return_tensors="pt").input_features


def _whisper_extractor():
    return transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)


def _spread(model):
    """Makes the weights large, so that tokens differ."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    return model.eval()


def bert(kind, words=258, **more):
    config = transformers.BertConfig(vocab_size=words, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=96,
                                     max_position_embeddings=64, **more)
    return getattr(transformers, f"Bert{kind}")(config).eval()
