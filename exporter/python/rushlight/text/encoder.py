"""Encoders of text: embeddings, and the classification of texts or of their tokens."""

import inspect
import json
import pathlib

import torch
from torch import nn

from ..base.errors import unsupported
from .half_precision import computing

POOLINGS = ("mean", "cls", "max", "last")
_FLAGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max",
          "pooling_mode_lasttoken": "last"}


class Encoder(nn.Module):
    """Takes tokens [batch, n], their mask and perhaps their types. Returns logits, or embeddings [batch, features]."""

    def __init__(self, model, task, pooling=None, normalize=False):
        super().__init__()
        self.model, self.task, self.pooling, self.normalize = model, task, pooling, normalize

    def forward(self, tokens, mask, types=None):
        more = {"token_type_ids": types} if types is not None else {}
        with computing(self.model):
            out = self.model(input_ids=tokens, attention_mask=mask, return_dict=True, **more)
        if self.task != "embed":
            return out.logits
        embedding = _pooled(out.last_hidden_state, mask, self.pooling)
        return nn.functional.normalize(embedding, dim=-1) if self.normalize else embedding


def inputs_of(model, batch):
    """Returns what the model takes of a tokenizer's batch, by the names of the file. The types of GPT-2 and XLM are words that are
    added: zeros are not the same as none. A model therefore gets types only if its tokenizer gives them."""
    given = {"tokens": batch["input_ids"], "mask": batch["attention_mask"]}
    if "token_type_ids" in batch and "token_type_ids" in inspect.signature(model.forward).parameters:
        given["types"] = batch["token_type_ids"]
    return given


def _pooled(hidden, mask, pooling):
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "last":
        last = (mask * torch.arange(mask.size(1))).argmax(1)
        return hidden.gather(1, last[:, None, None].expand(-1, 1, hidden.size(2)))[:, 0]
    weight = mask[..., None].to(hidden.dtype)
    if pooling == "max":
        return hidden.masked_fill(weight == 0, -1e9).amax(1)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


def sentence_settings(folder):
    """Returns pooling and normalization of a folder of sentence-transformers, or None for another folder."""
    modules = pathlib.Path(folder) / "modules.json"
    if not modules.exists():
        return None
    kinds = {entry["type"].rsplit(".", 1)[-1]: entry["path"] for entry in json.loads(modules.read_text())}
    others = kinds.keys() - {"Transformer", "Pooling", "Normalize"}
    if others or "Pooling" not in kinds:
        raise unsupported(f"{folder} has modules that export_text() does not know: {', '.join(sorted(others)) or 'no Pooling'}")
    flags = json.loads((pathlib.Path(folder) / kinds["Pooling"] / "config.json").read_text())
    chosen = [name for flag, name in _FLAGS.items() if flags.get(flag)]
    if len(chosen) != 1:
        raise unsupported(f"the pooling of {folder} must be one of {', '.join(POOLINGS)}, got {', '.join(chosen) or 'another one'}")
    return {"pooling": chosen[0], "normalize": "Normalize" in kinds}
