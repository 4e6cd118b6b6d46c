"""Attributes that the program changes, several methods, and sessions side by side."""

import copy
import threading
from typing import Dict, List

import pytest
import rushlight
import torch
from recorded_programs import keep, session
from torch import nn


def feature(name, **how):
    return pytest.mark.feature("TorchScript", name, **how)


class Keeps(nn.Module):
    count: int
    history: List[int]
    seen: Dict[str, torch.Tensor]

    def __init__(self):
        super().__init__()
        self.count = 0
        self.history = []
        self.seen = {}
        self.register_buffer("hidden", torch.zeros(3))
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x, n: int):
        self.count += 1
        self.history.append(n)
        self.hidden = torch.tanh(self.hidden + x)
        self.cache[self.count % 4] = x
        self.seen[str(n)] = x
        return self.hidden, self.cache.clone(), self.count, self.history, len(self.seen)

    @torch.jit.export
    def forget(self):
        self.count = 0
        self.history.clear()
        self.hidden.zero_()

    @torch.jit.export
    def peek(self, i: int):
        return self.hidden[i], self.count

    @torch.jit.export
    def three(self, x):
        for i in range(3):
            self.forward(x * i, i)
        return self.forward(x, 3)


METHODS = ("forward", "forget", "peek", "three")


def same(got, want):
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w)


@feature("attributes that change: counters, recurrent state, caches, lists, dicts")
def test_state_persists_between_calls():
    keep("ts_state", torch.jit.script(Keeps()), (torch.rand(3), 1), methods=METHODS)
    wanted, got = torch.jit.script(Keeps()), session("ts_state")
    for n in range(7):
        x = torch.rand(3)
        same(got(x, n), wanted(x, n))
    got.reset()
    x = torch.rand(3)
    same(got(x, 5), torch.jit.script(Keeps())(x, 5))


@feature("several exported methods")
def test_several_methods_share_the_state():
    keep("ts_state", torch.jit.script(Keeps()), (torch.rand(3), 1), methods=METHODS)
    wanted, got, x = torch.jit.script(Keeps()), session("ts_state"), torch.rand(3)
    assert got.methods() == list(METHODS)
    for net in (wanted, got):
        net(x, 1)
    same(got.call("peek", 1), wanted.peek(1))
    same(got.call("three", x), wanted.three(x))
    assert got.call("forget") is None and wanted.forget() is None
    same(got.call("peek", 2), wanted.peek(2))
    same(got(x, 2), wanted(x, 2))


class CallsItself(nn.Module):
    """Its own first calls, so that the file's vectors show the state in Node and Chromium, too."""

    def __init__(self):
        super().__init__()
        self.net = Keeps()

    def forward(self, x):
        first = self.net(x, 1)
        again = self.net.three(x)
        peeked = self.net.peek(0)
        self.net.forget()
        return first[0], again, peeked, self.net(x, 9)


class Overlaps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("all", torch.zeros(2, 3))
        self.row = self.all[1]

    def forward(self, x):
        self.all += x
        self.row.mul_(10)
        return self.all, self.row


@feature("an attribute that is a view of another attribute")
def test_an_attribute_that_is_a_view_of_another():
    keep("ts_state_overlaps", torch.jit.script(Overlaps()), (torch.rand(3),), eager=Overlaps())
    wanted, got = Overlaps(), session("ts_state_overlaps")
    for _ in range(3):
        x = torch.rand(3)
        torch.testing.assert_close(got(x), wanted(x))


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n += 1
        return x * self.n


class CountsTogether(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.jit.script(Counts())
        self.b, self.alone = self.a, torch.jit.script(Counts())

    def forward(self, x):
        return self.b(self.a(x)), self.alone(x), self.a.n, self.b.n


def test_a_module_under_two_names_has_one_state():
    keep("ts_state_of_one_module", torch.jit.script(CountsTogether()), (torch.rand(3),))
    wanted, got, x = torch.jit.script(CountsTogether()), session("ts_state_of_one_module"), torch.rand(3)
    for _ in range(3):
        assert repr(got(x)) == repr(wanted(x))


class Unpacks(nn.Module):
    """Removes a weight and restores it, as modules of torch.ao once did."""

    def __init__(self):
        super().__init__()
        self.register_buffer("packed", torch.rand(3))
        self.register_buffer("weight", torch.rand(3))

    def forward(self, x):
        self.weight.set_(torch.zeros(1))
        y = x + self.weight
        self.weight.set_(self.packed * 2)
        return y, self.weight * x


def test_an_attribute_is_set_to_another_storage():
    keep("ts_state_set", torch.jit.script(Unpacks()), (torch.rand(3),))
    got, x = session("ts_state_set"), torch.rand(3)
    assert torch.equal(got(x)[1], got(x)[1])


@feature("several exported methods")
def test_methods_called_inside_a_program():
    keep("ts_state_inside", torch.jit.script(CallsItself()), (torch.rand(3),))


@feature("two sessions of one model on two threads at once")
def test_two_sessions_run_at_once_and_share_no_state():
    """Each thread waits in its run until the other is in its own."""
    keep("ts_state", torch.jit.script(Keeps()), (torch.rand(3), 1), methods=METHODS)
    meet = threading.Barrier(2, timeout=600)

    class Meets(nn.Module):
        def forward(self, x, n: int):
            y = x
            for i in range(n):
                y = torch.tanh(y @ x) + i
                if i == n // 2:
                    print("half way")
            return y

    keep("ts_threads", torch.jit.script(Meets()), (torch.eye(4), 3))
    answers, errors = {}, []

    class Out:
        def write(self, text):
            if "half way" in text:
                meet.wait()

        def flush(self):
            pass

    def work(k, x):
        try:
            ours = session("ts_threads")
            state = session("ts_state")
            answers[k] = ours(x, 40), [state(x[0, :3], i)[2] for i in range(k + 2)]
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)

    xs = [torch.eye(4) * 0.1, torch.rand(4, 4) * 0.1]
    import sys
    real, sys.stdout = sys.stdout, Out()
    try:
        threads = [threading.Thread(target=work, args=(k, x)) for k, x in enumerate(xs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.stdout = real
    assert errors == []
    for k, x in enumerate(xs):
        wanted = x
        for i in range(40):
            wanted = torch.tanh(wanted @ x) + i
        torch.testing.assert_close(answers[k][0], wanted)
        assert answers[k][1] == list(range(1, k + 3))


@feature("two sessions of one model on two threads at once")
def test_a_lowered_model_runs_on_two_threads_at_once():
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8)).eval()
    lowered = rushlight.lower(net, (torch.rand(4, 64),))
    inputs = [torch.rand(4, 64) for _ in range(2)]
    wanted, apart = [net(x) for x in inputs], []

    def work(k):
        for _ in range(200):
            apart.append(float((lowered(inputs[k]) - wanted[k]).abs().max()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(apart) == 400 and max(apart) < 1e-5


class Normalized(nn.Module):
    """Batches and samples normalized by their own statistics, whose running averages are kept."""

    def __init__(self, exported):
        super().__init__()
        self.exported = exported  # torch.export can read neither a submodule's buffer nor the number of batches
        self.batch = nn.BatchNorm2d(3, momentum=0.3)
        self.average = nn.BatchNorm2d(3, momentum=0.2 if exported else None)
        self.sample = nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
        self.unkept = nn.BatchNorm2d(3, track_running_stats=False)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("var", torch.ones(3))

    def forward(self, x):
        y = self.unkept(self.sample(self.average(self.batch(x))))
        y = torch.nn.functional.batch_norm(y, self.mean, self.var, training=True)
        kept = [self.mean, self.var]
        if not self.exported:
            kept += [self.batch.running_var, self.average.running_mean, self.sample.running_var]
        return y, torch.stack(kept)


@feature("batch norm in training mode, which keeps running statistics")
@pytest.mark.parametrize("way", ["script", "script, evaluation", "trace", "export", "export, decomposed"])
def test_batch_norm_keeps_its_running_statistics(way, tmp_path):
    train = way != "script, evaluation"
    net, x = Normalized("export" in way).train(train), torch.rand(2, 3, 4, 5)
    model = copy.deepcopy(net)
    if "script" in way:
        model = torch.jit.script(model)
    elif "export" in way:
        model = torch.export.export(model, (x,))
        model = model.run_decompositions() if "decomposed" in way else model
    rushlight.export(model, (x,), tmp_path / "norm.rush", train=train)
    got = rushlight.load(tmp_path / "norm.rush")
    for _ in range(4):
        x = torch.rand(2, 3, 4, 5) * 3
        same(got(x), net(x))
