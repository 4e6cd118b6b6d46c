# As aten/src/ATen/native/transformers/attention.cpp, transformer.cpp


def _native_multi_head_attention(query, key, value, embed_dim: int, num_head: int, qkv_weight, qkv_bias,
                                 proj_weight, proj_bias, mask: Optional[Tensor] = None, need_weights: bool = True,
                                 average_attn_weights: bool = True,
                                 mask_type: Optional[int] = None) -> Tuple[Tensor, Optional[Tensor]]:
    assert query.dim() == 3 and query.size() == key.size() and key.size() == value.size(), "expected `query`/`key`/`value` shapes to match"
    batch, length, width = query.size(0), query.size(1), embed_dim // num_head
    heads = [batch, length, num_head, width]
    d, e = embed_dim, 2 * embed_dim
    q = torch.linear(query, qkv_weight[:d], qkv_bias[:d]) / (float(width) ** 0.5)
    k = torch.linear(key, qkv_weight[d:e], qkv_bias[d:e])
    v = torch.linear(value, qkv_weight[e:], qkv_bias[e:])
    scores = torch.matmul(q.view(heads).transpose(1, 2), k.view(heads).permute([0, 2, 3, 1]))
    if mask is not None:
        hidden = torch.ne(mask, 0)
        if mask_type is not None and mask_type == 1:
            hidden = hidden.view([batch, 1, 1, length])
        scores = torch.masked_fill(scores, hidden, -float("inf"))
    weights = torch.softmax(scores, -1)
    mixed = torch.matmul(weights, v.view(heads).transpose(1, 2)).transpose(1, 2).reshape([batch, length, embed_dim])
    result = torch.linear(mixed, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    if average_attn_weights:
        weights = torch.sum(weights, 1) / num_head
    return result, weights


def _transformer_encoder_layer_fwd(src, embed_dim: int, num_heads: int, qkv_weight, qkv_bias, proj_weight, proj_bias,
                                   use_gelu: bool, norm_first: bool, eps: float, norm_weight_1, norm_bias_1,
                                   norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
                                   mask: Optional[Tensor] = None, mask_type: Optional[int] = None) -> Tensor:
    x = src
    if norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
    x = _native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias,
                                     mask, False, True, mask_type)[0] + src
    if not norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
    between = x
    if norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
    x = torch.linear(x, ffn_weight_1, ffn_bias_1)
    x = torch.gelu(x) if use_gelu else torch.relu(x)
    x = torch.linear(x, ffn_weight_2, ffn_bias_2) + between
    if not norm_first:
        x = torch.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)
    return x


def _scaled_dot_product_attention_math(query, key, value, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, dropout_mask: Optional[Tensor],
                                       scale: Optional[float], enable_gqa: bool):
    assert dropout_mask is None, "a dropout mask is not supported"
    if enable_gqa:
        key = torch.repeat_interleave(key, query.size(-3) // key.size(-3), -3)
        value = torch.repeat_interleave(value, query.size(-3) // value.size(-3), -3)
    factor = 1.0 / float(query.size(-1)) ** 0.5 if scale is None else scale
    root = abs(factor) ** 0.5
    q = query * (-root if factor < 0 else root)
    scores = torch.matmul(q, (key * root).transpose(-2, -1))
    if is_causal:
        assert attn_mask is None, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        hidden = torch.logical_not(torch.tril(torch.ones([query.size(-2), key.size(-2)], dtype=torch.bool), 0))
        scores = torch.masked_fill(scores, hidden, -float("inf"))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = torch.masked_fill(scores, torch.logical_not(attn_mask), -float("inf"))
        else:
            scores = scores + attn_mask
    weights = _safe_softmax(scores, -1, None)
    if dropout_p > 0.0:
        weights = torch.dropout(weights, dropout_p, True)
    return torch.matmul(weights, value), weights
