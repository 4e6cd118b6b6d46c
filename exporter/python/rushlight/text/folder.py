"""Models in folders, as transformers writes them."""

import pickle

from ..base.errors import RushlightError, unsupported
from .encoder import sentence_settings

# The exceptions that transformers and its readers raise for damaged or unknown files.
FAULTS = (ValueError, LookupError, RuntimeError, TypeError, AttributeError, OSError, OverflowError, pickle.PickleError)


def load(folder, tokenizer):
    """Returns the model, its tokenizer, and the settings of a folder of sentence-transformers.

    Raises:
        RushlightError: transformers does not know the architecture, or a file is damaged
    """
    import safetensors
    import transformers

    try:
        settings = sentence_settings(folder) or {}
        model = _model(folder, bool(settings))
        return model, transformers.AutoTokenizer.from_pretrained(folder) if tokenizer is None else tokenizer, settings
    except RushlightError:
        raise
    except (*FAULTS, safetensors.SafetensorError) as error:
        raise unsupported(f"transformers cannot read {folder}: {_reason(error)}") from error


def _reason(error, most=600):
    """Returns the message of the error without transformers' list of all architectures."""
    text = str(error)
    return text if len(text) <= most else f"{text[:most]}…"


def _model(folder, embeds):
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder)
    known = None if embeds else getattr(transformers, (config.architectures or [""])[0], None)
    own = isinstance(known, type) and issubclass(known, transformers.PreTrainedModel)
    model, info = (known if own else transformers.AutoModel).from_pretrained(folder, torch_dtype="auto", output_loading_info=True)
    # transformers gives random numbers to weights that are missing. An embedding needs no pooler.
    missing = sorted(name for name in info["missing_keys"] if own or not name.startswith("pooler."))
    if missing:
        raise ValueError(f"the files must have all weights of the model, but lack {', '.join(missing[:5])}")
    return model
