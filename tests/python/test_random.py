"""Random numbers are PyTorch's for a seed, and differ from run to run without one."""

import pytest
import rushlight
import torch
from recorded_programs import keep, session
from torch import nn


def feature(name, topic="TorchScript", **how):
    return pytest.mark.feature(topic, name, **how)


def draws(n: int):
    return (torch.rand(n), torch.randn(n), torch.randint(-9, 9, [n]), torch.randperm(n),
            torch.bernoulli(torch.full([n], 0.3)), torch.empty(n).normal_(1.0, 2.0), torch.empty(n).uniform_(-1.0, 1.0))


def same(got, want):
    for a, b in zip(got, want, strict=True):
        if b.is_floating_point():
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
        else:
            assert torch.equal(a, b)


@feature("random numbers of every kind, by seed")
@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 + 3, 2**63 + 5, -4])
def test_the_same_seed_gives_the_same_numbers(seed):
    scripted = torch.jit.script(draws)
    keep("random_draws", scripted, (5,), (40,))
    s = session("random_draws")
    torch.manual_seed(seed)
    s.manual_seed(seed)
    for n in (40, 3, 16, 1):  # the generator goes on from run to run
        same(s(n), scripted(n))


@feature("random numbers that differ from run to run")
def test_without_a_seed_each_run_and_each_session_draws_others():
    keep("random_draws", torch.jit.script(draws), (5,), (40,))
    first, second = session("random_draws"), session("random_draws")
    numbers = [s(40)[0] for s in (first, first, second)]
    assert not torch.equal(numbers[0], numbers[1]) and not torch.equal(numbers[0], numbers[2])


def test_reset_and_verify_leave_the_generator_as_it_is():
    keep("random_draws", torch.jit.script(draws), (5,), (40,))
    s = session("random_draws")
    s.manual_seed(3)
    once = [s(5), s(5)]
    s.manual_seed(3)
    again = [s(5)]
    s.reset()
    s.verify()
    again.append(s(5))
    for a, b in zip(once, again):
        same(a, b)


def seeds_itself(x):
    torch.manual_seed(5)
    return x + torch.randn(3)


@feature("torch.manual_seed in a program")
def test_a_program_seeds_its_own_numbers():
    keep("random_seeds_itself", torch.jit.script(seeds_itself), (torch.zeros(3),))
    s = session("random_seeds_itself")
    assert torch.equal(s(torch.zeros(3)), s(torch.zeros(3)))


class Drops(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Dropout(0.3), nn.Dropout2d(0.3), nn.AlphaDropout(0.2))

    def forward(self, x):
        return self.net(x) + nn.functional.dropout(x, 0.5, True)


@feature("dropout in training mode, by seed")
def test_dropout_in_training_drops_what_pytorch_drops():
    x = torch.ones(2, 3, 4, 4)
    net = torch.jit.script(Drops().train())
    keep("random_dropout", net, (x,), train=True)
    s = session("random_dropout")
    torch.manual_seed(11)
    s.manual_seed(11)
    torch.testing.assert_close(s(x), net(x))
    assert not torch.equal(s(x), s(x))


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.randn(3)


@feature("random numbers in an ExportedProgram", "torch.export")
def test_an_exported_program_draws():
    program = torch.export.export(Noisy(), (torch.zeros(3),))
    keep("random_exported", program, (torch.zeros(3),), eager=program.module())


def own_generator(x):
    g = torch.Generator()
    return x + torch.rand([3], generator=g)


@feature("a torch.Generator of the model", rushlight="refuses")
def test_a_generator_as_an_argument_is_refused_by_name(tmp_path):
    own_generator(torch.zeros(3))
    with pytest.raises(rushlight.RushlightError, match="its own random number generator"):
        rushlight.export(torch.jit.script(own_generator), (torch.zeros(3),), tmp_path / "m.rush")


class Sampler(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5, True) + torch.randn(7) + torch.rand(7), torch.randperm(9)


@feature("random numbers of a lowered module, by torch.manual_seed", "Native")
def test_a_lowered_module_draws_from_torchs_generator():
    x = torch.ones(7)
    net = torch.jit.script(Sampler())
    lowered = rushlight.lower(net, (x,))
    for seed in (0, 9):
        torch.manual_seed(seed)
        want = [net(x), net(x), (torch.rand(3), torch.randn(1))]
        torch.manual_seed(seed)
        got = [lowered(x), lowered(x), (torch.rand(3), torch.randn(1))]  # torch's generator continues behind it
        for a, b in zip(got, want):
            same(a, b)
    assert not torch.equal(lowered(x)[0], lowered(x)[0])


def test_lowered_modules_that_draw_may_run_at_once():
    from concurrent.futures import ThreadPoolExecutor
    lowered = rushlight.lower(torch.jit.script(Sampler()), (torch.ones(7),))
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: lowered(torch.ones(7))[0], range(40)))
    assert len({str(y.tolist()) for y in drawn}) == 40
