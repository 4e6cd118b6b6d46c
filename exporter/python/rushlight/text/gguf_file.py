"""Models in GGUF files, as llama.cpp has them."""

import collections
import pathlib
import re

from ..base.errors import unsupported
from .folder import FAULTS

# The bits that keep the weights of a type. Groups of Q4_K need not use all of their 16 steps, so that it changes by about 1 %. Types
# that are missing here become 8 bits.
_BITS = {"F32": None, "F16": "float16", "BF16": "float16", "Q4_0": "int4-weights", "Q4_1": "int4-weights:minima",
         "Q4_K": "int4-weights:minima"}
_OTHERS = "int8-weights"
# {name in GGUF: name of the module}.
_LAYERS = {"attn_q": "q_proj", "attn_k": "k_proj", "attn_v": "v_proj", "attn_output": "o_proj", "attn_qkv": "qkv_proj",
           "ffn_gate": "gate_proj", "ffn_up": "up_proj", "ffn_down": "down_proj"}
_FUSED = {"ffn_up": "gate_up_proj"}  # in a file without ffn_gate


def is_gguf(path):
    return pathlib.Path(path).suffix == ".gguf"


def load(path):
    """Returns the model in float32 and the tokenizer that transformers makes of the file.

    Raises:
        RushlightError: the package gguf is missing, transformers does not know the architecture, or the file is damaged
    """
    import transformers

    tensors = _tensors(path)
    folder, name = str(pathlib.Path(path).parent), pathlib.Path(path).name
    try:
        config = transformers.AutoConfig.from_pretrained(folder, gguf_file=name)
        _check_size(config, tensors)
        model = transformers.AutoModelForCausalLM.from_config(config)
        _take_weights(model, str(path))
        return model, transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    except FAULTS as error:
        raise unsupported(f"transformers cannot read {path}: {error}") from error


def _check_size(config, tensors):
    """Refuses settings of a model that is larger than the file's tensors, before memory is allocated for it."""
    import torch
    import transformers

    from_config = transformers.AutoModelForCausalLM.from_config  # imported here, since PyTorch's compiler cannot be on "meta"
    layers = config.get_text_config().num_hidden_layers
    if layers > len(tensors):
        raise ValueError(f"its metadata has {layers} layers, but it has {len(tensors)} tensors")
    with torch.device("meta"):
        model = from_config(config)
    declared, elements = sum(p.numel() for p in model.parameters()), sum(int(t.n_elements) for t in tensors)
    if declared > 2 * elements:
        raise ValueError(f"its metadata has {declared} parameters, but its tensors have {elements} elements")


def _take_weights(model, path):
    """from_pretrained() would need the package accelerate, and hold all weights twice."""
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    tensors = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    missing, _ = model.load_state_dict(tensors, strict=False, assign=True)
    model.tie_weights()
    missing = [name for name in missing if not (model.config.tie_word_embeddings and name == "lm_head.weight")]
    if missing:
        raise ValueError(f"the file must have all weights of the model, but lacks {', '.join(missing[:5])}")


def bits(path):
    """Returns the bits of the layers in the form of `quantize`: {pattern of module paths: bits}, by the types of the file's tensors."""
    types = {tensor.name.removesuffix(".weight"): tensor.tensor_type.name for tensor in _tensors(path)
             if tensor.name.endswith(".weight") and len(tensor.shape) == 2}
    by_name = collections.defaultdict(dict)
    for name, kind in types.items():
        layer = re.fullmatch(r"blk\.(\d+)\.(\w+)", name)
        if layer and layer[2] in _LAYERS:
            fused = _FUSED if f"blk.{layer[1]}.ffn_gate" not in types else {}
            by_name[fused.get(layer[2], _LAYERS[layer[2]])][layer[1]] = _BITS.get(kind, _OTHERS)
    out = {}
    for name, layers in by_name.items():
        one = len(set(layers.values())) == 1
        out.update({f"*.{name}": next(iter(layers.values()))} if one else {f"*.{i}.*.{name}": of for i, of in layers.items()})
    return {**out, "*lm_head": _of_table(types.get("output", types.get("token_embd"))), "*embed_tokens": _of_table(types.get("token_embd"))}


def _of_table(kind):
    """A table has 8 bits at least, so that it is stored once for the embedding and the head."""
    found = _BITS.get(kind, _OTHERS)
    return _OTHERS if found and found.startswith("int4") else found


def _tensors(path):
    """Returns the descriptions of the file's tensors."""
    try:
        import gguf
    except ImportError as error:
        raise unsupported("a .gguf file needs the package gguf: pip install gguf") from error
    try:
        return gguf.GGUFReader(path).tensors
    except FAULTS as error:
        raise unsupported(f"{path} is not a .gguf file that can be read: {error}") from error
