"""Inputs and results of an ExportedProgram: dataclasses, registered containers, sizes that torch.export fixes."""

import collections
import dataclasses
import typing

import pytest
import rushlight
import torch
from recorded_programs import keep, session
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

# Errors for sizes that do not fit: Rushlight raises the first, and programs of newer torch raise the second.
REFUSALS = (RuntimeError, AssertionError)


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    mask: torch.Tensor
    bias: typing.Optional[torch.Tensor] = None
    scale: int = 3


torch.export.register_dataclass(Batch)


class OfBatches(nn.Module):
    def forward(self, b, more):
        return Batch(b.ids + b.mask, [m.ids * b.scale for m in more][0])


def fields(b):
    return (b.ids, b.mask, b.scale)


@pytest.mark.feature("torch.export", "dataclasses as inputs and outputs")
def test_dataclasses(out):
    batch = lambda: Batch(torch.randn(2), torch.randn(2))  # noqa: E731
    args = (batch(), [batch()])
    program = torch.export.export(OfBatches(), args)
    keep("ep_dataclass", program, args, eager=lambda *a: fields(OfBatches()(*a)))
    run = session("ep_dataclass")
    assert run.outputs() == ["ids", "mask", "scale"]
    torch.testing.assert_close(run(*args), fields(OfBatches()(*args)))
    with pytest.raises(rushlight.RushlightError, match=r"the input b\.scale must be 3, as at export, got 4"):
        run(Batch(torch.randn(2), torch.randn(2), scale=4), args[1])
    with pytest.raises(rushlight.RushlightError, match=r'input "b" must be Batch\(Tensor, Tensor, int\)'):
        run(Batch(torch.randn(2), torch.randn(2), torch.randn(2)), args[1])  # a field that was None


class Output(collections.OrderedDict):
    """A dict that is registered with its keys, like the outputs of transformers."""


pytree.register_pytree_node(Output, lambda o: (list(o.values()), list(o)), lambda v, keys: Output(zip(keys, v)),
                            flatten_with_keys_fn=lambda o: ([(pytree.MappingKey(k), v) for k, v in o.items()], list(o)),
                            serialized_type_name="test_program_inputs.Output")


def test_keys_of_registered_dicts_are_names_of_outputs():
    class Net(nn.Module):
        def forward(self, x, given):
            return Output(logits=x + given["logits"], hidden=(x, x * 2))

    args = (torch.randn(2), Output(logits=torch.randn(2)))
    program = torch.export.export(Net(), args, strict=False)
    report = keep("ep_registered", program, args, eager=lambda *a: dict(Net()(*a)))
    assert report.outputs == ["logits: float32[2]", "hidden: (Tensor, Tensor)"]


def test_an_ordered_dict_as_an_input():
    class Net(nn.Module):
        def forward(self, d):
            return d["b"] - d["a"]

    args = (collections.OrderedDict(b=torch.randn(2), a=torch.randn(2)),)
    keep("ep_ordered", torch.export.export(Net(), args), args, eager=Net())


def test_a_range_without_an_upper_end():
    class Net(nn.Module):
        def forward(self, x):
            torch._assert(x.shape[0] > 2, "too short")
            return x + 1

    program = torch.export.export(Net(), (torch.randn(4),), dynamic_shapes=({0: Dim("n", min=3)},))
    keep("ep_open_range", program, (torch.randn(4),), (torch.randn(9),), eager=Net())


@pytest.mark.feature("torch.export", "Dim.AUTO, with sizes that become fixed")
def test_sizes_that_turn_out_to_be_fixed(out):
    class Net(nn.Module):
        def forward(self, x, past):
            if past[1].shape[0] == 7:  # PyTorch keeps to this branch
                return torch.cat([past[0], x]), past[1].sum()
            return x

    args = (torch.randn(3, 2), (torch.randn(4, 2), torch.randn(7, 2)))
    auto = {0: Dim.AUTO}
    program = torch.export.export(Net(), args, dynamic_shapes=(auto, (auto, auto)))
    keep("ep_auto", program, args, eager=Net())
    for run in (session("ep_auto"), program.module()):
        run(torch.randn(2, 2), (torch.randn(5, 2), torch.randn(7, 2)))
        with pytest.raises(REFUSALS, match="7.*8|8.*7|== 7"):
            run(torch.randn(3, 2), (torch.randn(4, 2), torch.randn(8, 2)))


@pytest.mark.feature("torch.export", "sizes derived from others", pytorch="refuses", rushlight="refuses")
def test_derived_sizes_are_checked():
    class Net(nn.Module):
        def forward(self, x, y, z):
            return x.sum() + y.sum() * z.sum()

    n, m = Dim("n", min=2, max=20), Dim("m", min=2, max=20)
    args = (torch.randn(7), torch.randn(3), torch.randn(9))
    program = torch.export.export(Net(), args, dynamic_shapes=({0: 2 * n + 1}, {0: n}, {0: 3 * m}))
    keep("ep_derived", program, args, (torch.randn(9), torch.randn(4), torch.randn(6)), eager=Net())
    run, other, odd = session("ep_derived"), (8, 3, 9), (7, 3, 10)
    with pytest.raises(REFUSALS):  # PyTorch 2.15 lets `odd` through
        program.module()(*map(torch.randn, other))
    with pytest.raises(REFUSALS, match=r'size 0 of input "x" must be 7 \(2 times size 0 of input "y" plus 1\), got 8'):
        run(*map(torch.randn, other))
    with pytest.raises(REFUSALS, match='size 0 of input "z" must be a multiple of 3, got 10'):
        run(*map(torch.randn, odd))


class Attends(nn.Module):
    """Attention in a graph that also writes in place. Its views depend on the strides of PyTorch's kernels."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x, mask):
        bias = torch.zeros_like(mask, dtype=x.dtype).masked_fill_(mask == 0, float("-inf"))
        return self.attention(x, x, x, key_padding_mask=bias, need_weights=False)[0]


@pytest.mark.feature("torch.export", "attention in a graph with in-place writes")
def test_views_of_what_an_attention_gives(monkeypatch):
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    net = Attends().eval()
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    batch, length = Dim("batch", max=8), Dim("length", min=2, max=64)
    shapes = ({0: batch, 1: length}, {0: batch, 1: length})
    cases = [(torch.randn(2, 5, 16), mask), (torch.randn(2, 3, 16), mask[:, :3])]
    with torch.no_grad():
        program = torch.export.export(net, cases[0], dynamic_shapes=shapes)
    keep("ep_attends", program, *cases, eager=net, rtol=1e-4, atol=1e-5)


def test_a_view_that_is_written_stays_one():
    class Net(nn.Module):
        def forward(self, x):
            y = x * 2
            with torch.no_grad():
                y.view(-1)[1:3].add_(10)
            z = torch.dropout(y, 0.5, False)
            z.view(2, 3)[0] = 7
            return y, y.view(6) + 1

    program = torch.export.export(Net(), (torch.randn(3, 2),))
    report = keep("ep_written_views", program, (torch.randn(3, 2),), eager=Net())
    assert report.ops["aten::view"] == 3 and "aten::reshape" not in report.ops


@pytest.mark.feature("torch.export", "autocast", rushlight="refuses")
def test_autocast(out):
    class Net(nn.Module):
        def __init__(self, enabled):
            super().__init__()
            self.enabled = enabled

        def forward(self, x):
            with torch.autocast("cpu", enabled=self.enabled):
                return x @ x

    x = torch.randn(3, 3)
    keep("ep_no_autocast", torch.export.export(Net(False), (x,)), (x,), eager=Net(False))
    with pytest.raises(rushlight.RushlightError, match=r"test_program_inputs.py:\d+: cannot export autocast on cpu"):
        rushlight.export(torch.export.export(Net(True), (x,)), None, out)


class Cache:
    """A cache like DynamicCache of transformers: it is not a dict, is registered as the dict of its lists, and fx flattens it to its
    tensors.
    """

    def __init__(self, keys=(), values=()):
        self.keys, self.values = list(keys), list(values)

    def update(self, k, v, layer):
        if layer == len(self.keys):
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], 1)
            self.values[layer] = torch.cat([self.values[layer], v], 1)
        return self.keys[layer], self.values[layer]


def parts(cache):
    return {"keys": cache.keys, "values": cache.values}


pytree.register_pytree_node(Cache, lambda c: ([c.keys, c.values], ["keys", "values"]), lambda items, _: Cache(*items),
                            flatten_with_keys_fn=lambda c: ([(pytree.MappingKey(k), v) for k, v in parts(c).items()], list(parts(c))),
                            serialized_type_name="test_program_inputs.Cache")
torch.fx._pytree.register_pytree_flatten_spec(Cache, lambda cache, _: pytree.tree_leaves(parts(cache)))


class Cached(nn.Module):
    """Two layers of attention over earlier tokens."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 12) for _ in range(2))

    def forward(self, x, cache=None):
        cache = Cache() if cache is None else cache
        for i, layer in enumerate(self.layers):
            q, k, v = layer(x).chunk(3, -1)
            k, v = cache.update(k, v, i)
            x = x + nn.functional.scaled_dot_product_attention(q, k, v)
        return Output(y=x, cache=cache)


def fresh_cache(cache):
    return Cache([k.clone() for k in cache.keys], [v.clone() for v in cache.values])


def test_a_registered_class_goes_round_step_by_step(out):
    model = Cached().eval()
    first, x = model(torch.randn(1, 5, 4)), torch.randn(1, 1, 4)
    n = Dim("n", min=2, max=64)
    program = torch.export.export(model, (x, fresh_cache(first["cache"])), strict=False,
                                  dynamic_shapes={"x": None, "cache": [[{1: n}, {1: n}], [{1: n}, {1: n}]]})
    before = dict(torch.fx._pytree.SUPPORTED_NODES)
    report = rushlight.export(program, None, out)
    assert torch.fx._pytree.SUPPORTED_NODES == before
    assert report.verified == 1
    assert report.inputs[1] == "cache: Cache(keys : Tensor[], values : Tensor[])"
    run, cache = rushlight.load(out), fresh_cache(first["cache"])
    want = fresh_cache(cache)
    for _ in range(3):
        x = torch.randn(1, 1, 4)
        got, expected = run(x, cache), model(x, want)
        torch.testing.assert_close(got.y, expected["y"])
        want, cache = expected["cache"], got.cache  # a tuple of two lists, which goes in again
        torch.testing.assert_close([list(part) for part in cache], [want.keys, want.values])
    assert cache[0][1].shape == (1, 8, 4)
    with pytest.raises(rushlight.RushlightError, match=r"the input cache\.keys must have 2 items, as at export, got 1"):
        run(x, Cache(want.keys[:1], want.values))
