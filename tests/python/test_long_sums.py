"""Compares sums that are longer than those of any model, which other code computes so that a run can be stopped within them."""

import pytest
import rushlight
import torch
import torch.nn.functional as F


@torch.jit.script
def attention(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, mask)


@torch.jit.script
def unmasked(q, k, v):
    return F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True)


@torch.jit.script
def clamped(x, w):
    return torch.relu(F.conv1d(x, w))


@torch.jit.script
def depthwise(x, w):
    return F.conv1d(x, w, padding=1, groups=w.size(0))


def run(function, example, inputs, path):
    rushlight.export(function, example, str(path), test_vectors=False, verify=False)
    return rushlight.load(str(path))(*inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("keys,features", [(2_000_003, 2), (5, 1_700_001)])
def test_attention_over_very_many_keys_or_features(keys, features, dtype, tmp_path):
    small = [torch.rand(1, 2, 2, 4, dtype=dtype) for _ in range(3)]
    q, k, v = (torch.randn(1, 1, n, features, dtype=dtype) for n in (2, keys, keys))
    far = {"rtol": 1e-4, "atol": 1e-4}  # scores of float32 are sums of millions of products
    got = run(unmasked, tuple(small), (q, k, v), tmp_path / "m.rush")
    for a, b in zip(got, unmasked(q.double(), k.double(), v.double())):
        torch.testing.assert_close(a.double(), b, **far)
    hidden = torch.full((1, 1), -torch.inf, dtype=dtype).expand(2, keys)
    for mask in (torch.rand(2, keys) > 0.5, torch.randn(2, keys, dtype=dtype), hidden):
        got = run(attention, (*small, mask[:, :2].contiguous()), (q, k, v, mask), tmp_path / "m.rush")
        want = attention(q.double(), k.double(), v.double(), mask if mask.dtype == torch.bool else mask.double())
        torch.testing.assert_close(got.double(), want, **far)


def test_convolutions_with_very_long_sums_and_very_many_channels(tmp_path):
    n = (1 << 22) + 5
    x, w = torch.randn(1, 1, n + 1), torch.randn(2, 1, n)
    got = run(clamped, (torch.rand(1, 1, 5), torch.rand(2, 1, 3)), (x, w), tmp_path / "m.rush")
    torch.testing.assert_close(got, clamped(x.double(), w.double()).float(), rtol=1e-4, atol=1e-2)
    channels = 2_000_003
    x, w = torch.randn(1, channels, 3), torch.randn(channels, 1, 3)
    got = run(depthwise, (torch.rand(1, 4, 5), torch.rand(4, 1, 3)), (x, w), tmp_path / "m.rush")
    torch.testing.assert_close(got, depthwise(x, w))


@torch.jit.script
def dense(x):
    return x.t().contiguous()


def test_transposing_copies_with_very_many_columns(tmp_path):
    x = torch.randn(3, 100_003)
    assert torch.equal(run(dense, (torch.rand(3, 2),), (x,), tmp_path / "m.rush"), x.t())
