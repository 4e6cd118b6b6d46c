"""Small models of transformers with random weights, and a tokenizer of bytes."""

import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TEMPLATE = ("{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
            "{% if add_generation_prompt %}assistant:{% endif %}")
SIZES = {"vocab_size": 258, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 257, "bos_token_id": 256, "eos_token_id": 256}

DECODERS = {
    "Llama": lambda c: c(**SIZES),
    "Qwen2": lambda c: c(**SIZES, use_sliding_window=True, sliding_window=8, max_window_layers=1),
    "Qwen3": lambda c: c(**SIZES, head_dim=8),
    "Gemma2": lambda c: c(**SIZES, head_dim=8, sliding_window=8),
    "Gemma3Text": lambda c: c(**SIZES, head_dim=8, sliding_window=8, layer_types=["sliding_attention", "full_attention"]),
    "Phi3": lambda c: c(**SIZES),
    "Mistral": lambda c: c(**SIZES, sliding_window=8),
    "GPT2": lambda c: c(vocab_size=258, n_embd=48, n_layer=2, n_head=6, n_positions=64, bos_token_id=256, eos_token_id=256),
}


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


def bert(kind, **more):
    config = transformers.BertConfig(vocab_size=258, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=96,
                                     max_position_embeddings=64, **more)
    return getattr(transformers, f"Bert{kind}")(config).eval()
