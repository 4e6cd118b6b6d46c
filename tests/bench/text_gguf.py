"""Writes language models of transformers as GGUF: linear layers as Q4_0 or Q8_0, the table of words as Q8_0."""

import gguf
from text_onnx import head_dim

_LAYER = {'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
          'self_attn.qkv_proj': 'attn_qkv', 'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm',
          'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.gate_up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down',
          'input_layernorm': 'attn_norm', 'post_attention_layernorm': 'ffn_norm'}
_GEMMA = {'post_attention_layernorm': 'post_attention_norm', 'pre_feedforward_layernorm': 'ffn_norm',
          'post_feedforward_layernorm': 'post_ffw_norm'}
WHOLE = {'model.embed_tokens.weight': 'token_embd.weight', 'model.norm.weight': 'output_norm.weight', 'lm_head.weight': 'output.weight'}
_KINDS = {'llama': 'llama', 'qwen3': 'qwen3', 'gemma3_text': 'gemma3'}  # {transformers: GGUF}


def name_in_gguf(kind, name):
    """Returns the name that a parameter of transformers has in a GGUF file of an architecture, such as "llama"."""
    if name in WHOLE:
        return WHOLE[name]
    _, _, layer, rest = name.split('.', 3)
    part, _, suffix = rest.rpartition('.')
    return f'blk.{layer}.{({**_LAYER, **_GEMMA} if kind == "gemma3" else _LAYER)[part]}.{suffix}'


def values_in_gguf(kind, config, name, weight):
    """Returns float32. Llama's rotated features are neighbours in GGUF, and Gemma's norms include the 1 that they add."""
    weight = weight.detach().float()
    if kind == 'llama' and name.endswith(('q_proj.weight', 'k_proj.weight')):
        heads = config.num_attention_heads if name.endswith('q_proj.weight') else config.num_key_value_heads
        weight = weight.view(heads, 2, -1, weight.size(1)).transpose(1, 2).reshape(weight.shape)
    if kind == 'gemma3' and name.endswith('norm.weight'):
        weight = weight + 1
    return weight.numpy()


def write_facts(writer, config, length):
    """Writes what llama.cpp needs to know of a model whose cache has `length` positions."""
    writer.add_context_length(length)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(getattr(config, 'rope_theta', 10000.0))
    writer.add_rope_dimension_count(head_dim(config))
    writer.add_key_length(head_dim(config))
    writer.add_value_length(head_dim(config))
    writer.add_vocab_size(config.vocab_size)
    if getattr(config, 'sliding_window', None):
        writer.add_sliding_window(config.sliding_window)


def _words(writer, words, prompt):
    """Adds a tokenizer, because llama.cpp loads no model without one. wllama takes prompts as text, so that `<5>` stands for token 5."""
    known = set(prompt)
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('default')
    writer.add_token_list([f'<{i}>' for i in range(words)])
    writer.add_token_types([gguf.TokenType.USER_DEFINED if i in known else gguf.TokenType.NORMAL for i in range(words)])
    writer.add_token_merges(['1 2'])
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(False)


def write_gguf(model, bits, length, prompt, path):
    """Writes a model of transformers: Llama, Qwen3 or Gemma 3. Its tokenizer knows the tokens of `prompt`."""
    config, kind = model.config, _KINDS[model.config.model_type]
    writer = gguf.GGUFWriter(str(path), kind)
    write_facts(writer, config, length)
    _words(writer, config.vocab_size, prompt)
    tied = config.tie_word_embeddings
    for name, weight in model.state_dict().items():
        if tied and name == 'lm_head.weight':
            continue
        values, dtype = values_in_gguf(kind, config, name, weight), gguf.GGMLQuantizationType.F32
        if values.ndim == 2:
            four = bits == 4 and name not in WHOLE
            dtype = gguf.GGMLQuantizationType.Q4_0 if four else gguf.GGMLQuantizationType.Q8_0
            values = gguf.quantize(values, dtype)
        writer.add_tensor(name_in_gguf(kind, name), values, raw_dtype=dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
