# Follows aten/src/ATen/native/transformers/attention.cpp, transformer.cpp


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


# A nested tensor is a padded tensor and a mask [batch, length] of its items (front/torchscript/nested_tensors.py).


def nested_items(x, mask):
    assert mask.dtype == torch.bool, "Expected mask to be of ScalarType Bool"
    assert mask.dim() == 2, "Padding mask should be 2D"
    assert x.dim() == 3, "Input should be a 3D tensor, N * L * D"
    assert mask.size() == x.size()[:2], "Mask size should match input size"
    return torch.arange(x.size(1)).unsqueeze(0) < torch.sum(mask, [1], True)


def _nested_tensor_from_mask_left_aligned(x, mask) -> bool:
    return torch.equal(nested_items(x, mask), mask)


def nested_from_mask(x, mask, mask_check: bool):
    items = nested_items(x, mask)
    assert not mask_check or torch.equal(items, mask), "Mask must be left-aligned without gaps"
    return items


def nested_encoder_layer(items: Optional[Tensor], src, embed_dim: int, num_heads: int, qkv_weight, qkv_bias, proj_weight, proj_bias,
                         use_gelu: bool, norm_first: bool, eps: float, norm_weight_1, norm_bias_1,
                         norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2,
                         mask: Optional[Tensor], mask_type: Optional[int]) -> Tensor:
    if items is not None:
        assert mask is None, "a mask beside a nested tensor is not supported"
        mask, mask_type = torch.logical_not(items), 1
    return _transformer_encoder_layer_fwd(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
                                          eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
                                          ffn_weight_2, ffn_bias_2, mask, mask_type)


def nested_to_padded(items: Optional[Tensor], x, padding: float, size: Optional[List[int]]):
    assert items is not None, "to_padded_tensor of a tensor that is not nested"
    x = torch.masked_fill(x, torch.logical_not(items).unsqueeze(-1), padding)
    if size is None:
        return x[:, :int(torch.max(torch.sum(items, [1])))]
    out = torch.full(size, padding, dtype=x.dtype)
    n = min(size[1], x.size(1))
    assert size[0] == x.size(0) and size[2] == x.size(2), "to_padded_tensor: output sizes of another batch or width are not supported"
    assert not bool(torch.any(items[:, n:])), "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
    out[:, :n] = x[:, :n]
    return out


# The gradient of attention, which autograd splits into the forward operator with its saved tensors, and the backward operator.


def attention_scores(query, key, is_causal: bool, attn_mask: Optional[Tensor], scale: Optional[float]):
    scores = torch.matmul(query, key.transpose(-2, -1)) * (1.0 / float(query.size(-1)) ** 0.5 if scale is None else scale)
    if is_causal:
        scores = torch.masked_fill(scores, torch.logical_not(torch.tril(torch.ones([query.size(-2), key.size(-2)], dtype=torch.bool), 0)), -float("inf"))
    if attn_mask is None:
        return scores
    if attn_mask.dtype == torch.bool:
        return torch.masked_fill(scores, torch.logical_not(attn_mask), -float("inf"))
    return scores + attn_mask


def _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p: float, is_causal: bool, attn_mask: Optional[Tensor],
                                                scale: Optional[float]):
    assert dropout_p == 0.0, "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0"
    sums = torch.logsumexp(attention_scores(opmath(query), opmath(key), is_causal, attn_mask, scale), [-1])
    return torch.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale), sums


def _scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, logsumexp, dropout_p: float, is_causal: bool,
                                                         attn_mask: Optional[Tensor], scale: Optional[float]):
    g, q, k, v = opmath(grad_out), opmath(query), opmath(key), opmath(value)
    weights = torch.exp(attention_scores(q, k, is_causal, attn_mask, scale) - logsumexp.unsqueeze(-1))
    slopes = torch.matmul(g, v.transpose(-2, -1)) - torch.sum(g * opmath(out), [-1], True)
    slopes = weights * slopes * (1.0 / float(query.size(-1)) ** 0.5 if scale is None else scale)
    return (torch.matmul(slopes, k).to(query.dtype), torch.matmul(slopes.transpose(-2, -1), q).to(key.dtype),
            torch.matmul(weights.transpose(-2, -1), g).to(value.dtype))


def _masked_softmax(x, mask, dim: Optional[int], mask_type: Optional[int]):
    """mask_type 0: a mask of [length, length], 1: of [batch, length], otherwise of x's shape. If all of a row is masked, it is NaN, as in PyTorch."""
    assert mask.dtype == torch.bool, "Mask should be a boolean tensor"
    at = -1 if dim is None else dim
    if mask_type is not None and mask_type == 1:
        mask = mask.unsqueeze(1).unsqueeze(1)
    mask = mask.expand_as(x)
    lines = torch.softmax(torch.masked_fill(x, mask, -float("inf")), at)
    return torch.masked_fill(lines, torch.logical_and(mask, torch.logical_not(torch.all(mask, at, True))), 0)
