"""In-place writes and views: every alias sees a write through one name. The programs of PyTorch's issues 95050, 19948,
110056, 61034 and 111159 are among them: other exporters lose their writes, or crash."""

from typing import Dict, List

import pytest
import rushlight
import torch
from recorded_programs import keep
from torch import Tensor


def feature(name, **how):
    return pytest.mark.feature("TorchScript", name, **how)


def script(name, f, *cases, **options):
    return keep(f"ts_{name}", torch.jit.script(f), *cases, **options)


def slices(x, n: int):
    y = x.clone()
    y[1:n] = 5.0
    y[:, ::2] += 1
    y[0] = y[1]
    y[-1, 1] *= 2
    row = y[0]
    row += 10
    return y, row


@feature("slice assignment, += on a view")
def test_slice_assignment_and_writes_through_views():
    script("slices", slices, (torch.rand(4, 5), 3), (torch.rand(4, 5), 1))


def masks(x, mask):
    y = x * 2
    y[mask] = -1.0
    y[y > 1] = 7.0
    z = y.clone()
    z[:, 1][mask[:, 1]] = 100.0
    return y, z, x[mask]


@feature("x[mask] = v")
def test_masked_assignment():
    x = torch.rand(3, 4)
    script("masks", masks, (x, x > 0.5), (x, torch.zeros(3, 4).bool()))


def puts(a, index, b):
    c = a.clone()
    c.index_put_((index,), b, accumulate=True)
    a.index_put_((index,), b)
    return a, c, c.index_select(0, index)


@feature("index_put_ with repeated indices and accumulate")
def test_index_put_with_repeated_indices():
    script("puts", puts, (torch.rand(5), torch.tensor([0, 3, 1]), torch.rand(3)))


def copies(x, y):
    into = torch.zeros(2, 3)
    into.copy_(x)
    into[1].copy_(y)
    torch.add(x, x, out=into[:, :])
    out = torch.empty(0)
    torch.mul(x, 2, out=out)
    torch.sin(y, out=into[0])
    return into, out


@feature("copy_, out= variants")
def test_copy_and_out_variants():
    script("copies", copies, (torch.rand(2, 3), torch.rand(3)))


def containers(x):
    a, b = torch.zeros(2), torch.ones(2)
    xs = [a, b, a]
    d: Dict[str, Tensor] = {"a": a, "view": b[1:]}
    t = (a, xs)
    xs[0] += 1
    d["view"].fill_(9)
    t[1][1].mul_(2)
    other: List[Tensor] = t[1]
    other.append(x)
    x.add_(1)
    return a, b, xs, d["a"], len(t[1]), other[-1]


@feature("aliases through lists, tuples and dicts")
def test_aliases_through_containers():
    script("aliases", containers, (torch.rand(2),))


@feature("an input returned unchanged")
def test_an_input_returned_as_it_is():
    def same(x, y):
        return y, x, x

    script("inputs_back", same, (torch.rand(2), torch.rand(3)))


def issue_95050(x, mask):
    x.view(3, 2).masked_fill_(mask.unsqueeze(0), 3.4028234663852886e38)
    return x


def issue_19948(x):
    a = x.repeat([3, 2])
    a[:2, :2] = x * 2
    return a


def issue_110056(x):
    x[1:-1] = 0
    return x


def issue_61034(a, index, b):
    a.index_put_((index,), b, accumulate=True)
    return a


def issue_111159(x, index, y):
    x.index_add_(0, index, y)
    return x


@feature("the programs of PyTorch's issues 95050, 19948, 110056, 61034, 111159")
def test_programs_that_other_exporters_get_wrong():
    script("issue_95050", issue_95050, (torch.rand(6), torch.tensor([True, False])))
    script("issue_19948", issue_19948, (torch.rand(2, 2),))
    script("issue_110056", issue_110056, (torch.rand(2),), (torch.rand(5),))
    repeated = torch.tensor([1, 1, 0, 1])
    script("issue_61034", issue_61034, (torch.rand(3), repeated, torch.rand(4)))
    script("issue_111159", issue_111159, (torch.rand(3, 2), repeated, torch.rand(4, 2)))


@feature("an input that is a view of another input, natively")
def test_an_input_that_is_a_view_of_another():
    def writes(x, y):
        x.mul_(2)
        y.add_(1)
        return x + y.sum()

    net = rushlight.lower(torch.jit.script(writes), (torch.rand(4), torch.rand(2)))
    ours, theirs = torch.arange(4.0), torch.arange(4.0)
    torch.testing.assert_close(net(ours, ours[1:3]), writes(theirs, theirs[1:3]))
    torch.testing.assert_close(ours, theirs)


def conjugate_written(x):
    y = x.conj()
    y.mul_(2j)
    return x


def conjugated_written(x):
    y = x.conj()
    x.real.add_(1)
    return y


@pytest.mark.parametrize("program", [conjugate_written, conjugated_written])
def test_what_would_be_seen_through_a_conjugate_is_refused(program):
    """conj() is a copy here, and a view in PyTorch."""
    x = torch.randn(3, dtype=torch.complex64)
    with pytest.raises(rushlight.RushlightError, match=r"conj\(\) of it is a copy here"):
        rushlight.lower(torch.jit.script(program), (x,))


class Conjugated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(3, dtype=torch.complex64).conj())

    def forward(self, x):
        return (x * self.weight).conj(), x.imag * 2


def test_marks_of_conjugates_go_in_and_out():
    x, module = torch.randn(3, dtype=torch.complex64), Conjugated()
    net = rushlight.lower(torch.jit.script(module), (x.conj(),))
    torch.testing.assert_close(net(x.conj()), module(x.conj()))
