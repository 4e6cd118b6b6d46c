"""Exports models with an encoder and a decoder for export_text(): T5, BART, Marian, Whisper and others."""

import re

import torch

from .base.errors import unsupported
from .export import export
from .text.assets import text_assets
from .text.probe import naming_experts, naming_the_model


def is_seq2seq(model):
    """Returns whether the model encodes an input and writes a text."""
    return bool(getattr(model.config, "is_encoder_decoder", False)) and hasattr(model, "generate") and model.can_generate()


def export_seq2seq(model, tokenizer, path, length, stop, assets, options):
    """Writes the file that docs/design/text.md describes.

    Args:
        tokenizer: a fast tokenizer, or a processor that has one
        length: the most tokens of the decoder, if the model has no smaller limit
        stop: the tokens that end a text
        assets, options: as for export_text()

    Raises:
        RushlightError: the model takes images, or keeps another state than keys and values
    """
    from .text import seq2seq, speech  # which compile programs
    from .text.attention import attention_of

    kind = _kind_of(model, speech.Speech, seq2seq.Seq2Seq)
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    length = min(length, _most(model, length))
    with naming_the_model(model):
        seq2seq.compare(model, kind(model, max(length, seq2seq.COMPARED)).eval(), model.config.vocab_size)
        methods = kind(model, length).eval()
    facts = {"length": length, "words": model.config.vocab_size, "stop": stop}
    if kind is speech.Speech:
        facts.update(task="transcribe", **speech.facts_of(model, methods))
        longest = methods.most
    else:
        longest = _longest(model, tokenizer)
        facts.update(task="seq2seq", inputLength=longest, start=[_start(model)], languages=_languages(tokenizer))
    found = text_assets(tokenizer, facts, model.generation_config)
    with attention_of(model), naming_experts(model):
        return export(_calls(methods, length), path=path, assets={**found, **(assets or {})},
                      output_names={"encode": ["embedding"], "forward": ["logits"], **({"align": ["times"]} if facts.get("align") else {})},
                      dynamic_shapes=_shapes(methods, length, longest, facts.get("align")), **options)


def _kind_of(model, speech, text):
    name = type(model).__name__
    if name == "WhisperForConditionalGeneration":
        return speech
    if getattr(model, "main_input_name", "input_ids") != "input_ids":
        raise unsupported("model must have an encoder of text, or be Whisper, "
                          f"got {name}, whose input is {model.main_input_name}")
    return text


def _most(model, length):
    known = [getattr(model.config, name, None) for name in ("max_target_positions", "max_position_embeddings")]
    return min([n for n in known if n] or [length])


def _longest(model, tokenizer):
    known = [getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length]
    return int(min([n for n in known if n and n < 1 << 20] or [1 << 14]))


def _start(model):
    start = model.generation_config.decoder_start_token_id
    if start is None:
        raise unsupported(f"the decoder of {type(model).__name__} must begin with a token: set generation_config.decoder_start_token_id")
    return start


def _languages(tokenizer):
    """Returns the number of each language's token, for tokenizers of several languages: mBART's, and NLLB's ("eng_Latn")."""
    known = getattr(tokenizer, "lang_code_to_id", None)
    if known is not None:
        return dict(known)
    added = ((token.content, number) for number, token in tokenizer.added_tokens_decoder.items() if token.special)
    return {token: number for token, number in added if re.fullmatch(r"[a-z]{3}_[A-Z][a-z]{3}", token)}


def _calls(methods, length):
    zero, tokens = torch.tensor(0), torch.tensor([[1, 2, 3, 5, 4, 2][:length]])
    out = {"encode": (methods.encode, (methods.example(),)), "forward": (methods.forward, (tokens[:, :3], zero))}
    if getattr(methods, "heads", None):
        out["align"] = (methods.align, (tokens, torch.tensor(min(2, length - 1)), torch.tensor(methods.most // 640)))
    return out


def _shapes(methods, length, longest, align):
    sizes = {1: torch.export.Dim("n", min=1, max=length)}
    encoded = torch.export.Dim("m", min=1, max=longest)
    out = {"encode": {"samples": {0: encoded}} if hasattr(methods, "most") else {"tokens": {1: encoded}}, "forward": {"tokens": sizes}}
    return {**out, "align": {"tokens": sizes}} if align else out
