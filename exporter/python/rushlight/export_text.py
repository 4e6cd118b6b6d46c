"""The function export_text()."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import torch

from .base.errors import unsupported
from .export import export
from .export_seq2seq import export_seq2seq, is_seq2seq
from .report import Report
from .text import encoder, folder, gguf_file
from .text.assets import text_assets
from .text.half_precision import HALVES, vectors_in_float32
from .text.probe import naming_experts, naming_the_model

_EXAMPLE = "The quick brown fox jumps over the lazy dog."
_TASKS = {"ForSequenceClassification": "classify", "ForTokenClassification": "tokens"}


def export_text(
    model: Any,
    tokenizer: Any,
    path: str | os.PathLike[str],
    *,
    length: int = 1024,
    pooling: str | None = None,
    normalize: bool | None = None,
    assets: Mapping[str, bytes | bytearray | memoryview | str | os.PathLike[str]] | None = None,
    **options: Any,
) -> Report:
    """Exports a transformers model of text with its tokenizer, so that `loadText` of rushlight/text needs this file alone.

    The class of the model decides what the file does:

    - a CausalLM generates text. Its keys and values are state of the file, with room for `length` tokens. Prompts and single tokens
      go through the same method, which takes tokens [1, n] and the position of the first one, and returns the logits after the last
    - a Seq2SeqLM, such as T5, BART or Marian, has the methods encode() and forward(): the first one takes an input and keeps cross keys
      and values, the second one is that of a CausalLM
    - Whisper has the same methods, and its encode() takes audio samples. align() returns the times of tokens
    - a model for sequence or token classification returns the logits of its labels. It also takes pairs of texts
    - another encoder returns embeddings of texts

    The file has these assets: tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json, as transformers
    writes them, and text.json.

    Args:
        model: a transformers model, or the path of a folder with config.json and its weights, such as one of sentence-transformers.
            Weights in bfloat16 and float16 stay unchanged in the file, or are quantized; the model computes in float32
            Of a .gguf file, the layers keep their bits where a format has them, else they get 8 bits, unless `quantize` is given
        tokenizer: its fast tokenizer, or the processor of Whisper. None takes the one in the folder or the file
        path (str or PathLike): path of the file to write
        length (int): most tokens of a conversation, prompt and answers; of a decoder, if the model has no smaller limit
        pooling (str): "mean", "cls", "max" or "last": how embeddings of tokens become one of the text. The default is that of the
            folder, else "mean"
        normalize (bool): whether embeddings have the length 1. The default is that of the folder, else True
        assets (dict): further assets, as in export()
        options: `quantize`, `verify`, `rtol` and other arguments of export()

    Returns:
        Report

    Raises:
        RushlightError: the model keeps another state than keys and values, takes images or audio, or cannot be exported
            ('unsupported'), or its answers differ ('mismatch')
        ValueError: an argument is wrong
    """
    settings = {}
    if isinstance(model, (str, os.PathLike)) and gguf_file.is_gguf(model):
        options.setdefault("quantize", gguf_file.bits(model))
        model, own = gguf_file.load(model)
        tokenizer = own if tokenizer is None else tokenizer
    elif isinstance(model, (str, os.PathLike)):
        model, tokenizer, settings = folder.load(model, tokenizer)
    _check(model, length, pooling)
    with vectors_in_float32(model):
        return _export(model.eval(), tokenizer, path, length, pooling, normalize, settings, assets, options)


def _export(model, tokenizer, path, length, pooling, normalize, settings, assets, options):
    name = type(model).__name__
    if name.endswith(("ForCausalLM", "LMHeadModel")) or hasattr(model.config, "vision_config") or not hasattr(model, "forward"):
        return _export_decoder(model, tokenizer, path, length, assets, options)
    if is_seq2seq(model):
        return export_seq2seq(model, tokenizer, path, length, _stop_tokens(model), assets, options)
    task = next((task for end, task in _TASKS.items() if name.endswith(end)), None)
    if task is None and re.search("For[A-Z]", name):  # but not RoFormerModel
        raise unsupported(f"model must be an encoder, or a model for causal language modeling, sequence to sequence, speech to text, "
                          f"sequence or token classification, got {name}: export() takes other models, without their tokenizer")
    settings = {"pooling": pooling or settings.get("pooling", "mean"),
                "normalize": settings.get("normalize", True) if normalize is None else normalize}
    return _export_encoder(model, tokenizer, path, task or "embed", settings, assets, options)


def _check(model, length, pooling):
    if not hasattr(model, "config"):
        raise ValueError(f"model must be a model of transformers, or the path of its folder, got {type(model).__name__}")
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise ValueError(f"length must be a whole number of at least 1, got {length!r}")
    if pooling not in (None, *encoder.POOLINGS):
        raise ValueError(f"pooling must be one of {', '.join(encoder.POOLINGS)}, got {pooling!r}")
    others = {p.dtype for p in model.parameters() if p.is_floating_point()} - {torch.float32, *HALVES}
    if others:
        raise ValueError(f"the model must have weights in float32, bfloat16 or float16, got {', '.join(map(str, others))}")


def _stop_tokens(model):
    ends = model.generation_config.eos_token_id if model.generation_config is not None else model.config.eos_token_id
    return [] if ends is None else sorted(ends) if isinstance(ends, (list, tuple)) else [ends]


def _export_decoder(model, tokenizer, path, length, assets, options):
    from .text import decoder  # compiles programs
    from .text.attention import attention_of

    decoder.check(model)
    words = model.config.get_text_config().vocab_size
    step = decoder.Decoder(model, length).eval()
    with naming_the_model(model):
        decoder.compare(model, decoder.Decoder(model, length).eval(), words, length)
    facts = {"task": "generate", "length": length, "words": words, "stop": _stop_tokens(model)}
    found = text_assets(tokenizer, facts, model.generation_config)
    ids = torch.tensor([tokenizer(_EXAMPLE)["input_ids"][:min(12, length)]])
    if ids.size(1) < 2:
        ids = torch.tensor([[1, 2, 3][:length]])
    with attention_of(model), naming_experts(model):
        return export(step, (ids, torch.tensor(0)), path, input_names=["tokens", "position"], output_names=["logits"],
                      dynamic_shapes={"tokens": {1: _up_to(length)}}, assets={**found, **(assets or {})}, **options)


def _export_encoder(model, tokenizer, path, task, settings, assets, options):
    module = encoder.Encoder(model, task, **settings).eval()
    inputs = encoder.inputs_of(model, tokenizer([_EXAMPLE, "Hello."], return_tensors="pt", padding=True))
    with naming_the_model(model), torch.no_grad():
        module(**inputs)
    facts = {"task": task, **(settings if task == "embed" else {}), "length": _longest(model, tokenizer), "types": "types" in inputs}
    if task != "embed":
        facts["labels"] = [model.config.id2label[i] for i in range(model.config.num_labels)]
        facts["several"] = model.config.problem_type == "multi_label_classification"
    return export(module, tuple(inputs.values()), path, input_names=list(inputs),
                  output_names=["embedding" if task == "embed" else "logits"],
                  dynamic_shapes={name: {0: "batch", 1: _up_to(facts["length"])} for name in inputs},
                  assets={**text_assets(tokenizer, facts), **(assets or {})}, **options)


def _up_to(most):
    return torch.export.Dim("n", min=1, max=most)


def _longest(model, tokenizer):
    known = [getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length]
    return int(min(n for n in (*known, 1 << 20) if n and n > 0))
