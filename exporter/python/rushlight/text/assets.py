"""The assets of a file with a model of text."""

import json
import pathlib
import tempfile

from ..base.errors import unsupported

_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")


def text_assets(tokenizer, facts, generation=None):
    """Returns the assets: tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json as transformers writes
    them, and text.json with `facts` and the special tokens."""
    if not getattr(tokenizer, "is_fast", False):
        raise unsupported(f"the tokenizer must be a fast one, which has a tokenizer.json, got {type(tokenizer).__name__}")
    tokens = {name: str(getattr(tokenizer, name)) for name in _TOKENS if getattr(tokenizer, name, None) is not None}
    out = {"text.json": _json({"version": 1, **facts, "tokens": tokens})}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        for name in "tokenizer.json", "tokenizer_config.json":
            out[name] = (pathlib.Path(folder) / name).read_bytes()
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):
        template = template.get("default")
    if template:
        out["chat_template.jinja"] = template
    if generation is not None:
        out["generation_config.json"] = _json(generation.to_diff_dict())
    return out


def _json(value):
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
