"""Writes GGUF files of small models with random weights, and a tokenizer of bytes."""

import pathlib
import sys

import gguf
import numpy
import text_models
import transformers

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from text_gguf import WHOLE, name_in_gguf, values_in_gguf, write_facts  # noqa: E402 - of tests/bench

SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": False}
# {architecture in GGUF: (name in transformers, further settings)}.
MODELS = {
    "llama": ("Llama", {}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 128}),  # transformers 4.57 reads no other one
    "gemma3": ("Gemma3Text", {"head_dim": 16, "tie_word_embeddings": True, "sliding_window": 8}),
    "phi3": ("Phi3", {}),
}


def decoder(architecture, **more):
    name, settings = MODELS[architecture]
    config = getattr(transformers, f"{name}Config")(**{**text_models.SIZES, **SIZES, **settings, **more})
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def _k_blocks(kind, rows, columns):
    """Random blocks of a K-quant, whose scales are small."""
    size, total = gguf.GGML_QUANT_SIZES[kind]
    draw = numpy.random.default_rng(0)
    blocks = draw.integers(0, 256, (rows * columns // size, total), dtype=numpy.uint8)
    scale = numpy.array([2e-4], numpy.float16).view(numpy.uint8)
    at = {gguf.GGMLQuantizationType.Q4_K: (0, 2), gguf.GGMLQuantizationType.Q6_K: (total - 2,)}[kind]
    for place in at:
        blocks[:, place:place + 2] = scale
    return blocks.reshape(rows, -1)


def _packed(values, kind):
    if values.ndim < 2:
        return values, None
    if kind.name.endswith("_K"):
        return _k_blocks(kind, *values.shape), kind
    return (gguf.quants.quantize(values, kind), kind) if kind.name != "F32" else (values, None)


def write(path, model, architecture, kind="Q4_0", embedding="Q8_0", mixed=()):
    """Writes a model. `kind` is the type of all matrices but the embedding, the head and those of `mixed`."""
    config, tokenizer = model.config, text_models.tokenizer()
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("test")
    write_facts(writer, config, config.max_position_embeddings)
    if architecture == "gemma3":
        _write_pieces(writer)
    else:
        _write_bytes(writer, tokenizer)
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(256)
    writer.add_pad_token_id(257)
    writer.add_chat_template(text_models.TEMPLATE)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        own = name_in_gguf(architecture, name)
        of = dict(mixed).get(own, embedding if name in WHOLE else kind)
        data, raw = _packed(values_in_gguf(architecture, config, name, tensor), getattr(gguf.GGMLQuantizationType, of))
        writer.add_tensor(own, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_bytes(writer, tokenizer):
    """A token for each byte but two, which have merges."""
    tokens = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    tokens[254:256] = "th", "he"
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token.startswith("<|") else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges(["t h", "h e"])


def _write_pieces(writer):
    """Pieces of SentencePiece with scores."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "▁", "th", *(chr(i) for i in range(33, 127))]
    tokens += [f"<0x{i:02X}>" for i in range(256 - len(tokens))] + ["<|end|>", "<|pad|>"]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([gguf.TokenType.CONTROL if token.startswith("<|") else gguf.TokenType.NORMAL for token in tokens])
    writer.add_unk_token_id(3)
