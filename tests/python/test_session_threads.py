"""Sessions are entered once at a time; threads share a loaded model through a session each."""

import gc
import signal
import subprocess
import sys
import threading
import weakref

import pytest
import rushlight
import torch
from torch.testing import assert_close


@torch.jit.script
def loops(x, n: int):
    for i in range(n):
        x = x * 0.5 + 1
    return x


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.register_buffer("total", torch.zeros(16))

    def forward(self, x):
        self.total += self.linear(x).sum(0)
        return self.total.clone()


@pytest.fixture
def looping(tmp_path):
    rushlight.export(loops, (torch.ones(1000), 3), str(tmp_path / "m.rush"), test_vectors=False)
    return rushlight.load(str(tmp_path / "m.rush"))


@pytest.fixture
def counting(tmp_path):
    rushlight.export(torch.jit.script(Counter().eval()), (torch.ones(2, 16),), str(tmp_path / "m.rush"))
    return rushlight.load(str(tmp_path / "m.rush"))


BUSY = "the session is already running"
ENTER = {
    "run": lambda s: s(torch.ones(3), 1), "by name": lambda s: s.run({"x": torch.ones(3), "n": 1}), "reset": lambda s: s.reset(),
    "state": lambda s: s.state(), "set_state": lambda s: s.set_state({}), "verify": lambda s: s.verify(), "manual_seed": lambda s: s.manual_seed(1),
}


@torch.jit.script
def calls_back(x, n: int):
    print("inside")
    return x + n


@pytest.mark.parametrize("name", ENTER)
def test_what_a_run_calls_cannot_enter_the_session(tmp_path, monkeypatch, name):
    rushlight.export(calls_back, (torch.ones(3), 1), str(tmp_path / "m.rush"))
    session, seen = rushlight.load(str(tmp_path / "m.rush")), []

    class Out:
        def write(self, text):
            if "inside" not in text:
                return
            with pytest.raises(RuntimeError, match=BUSY) as e:
                ENTER[name](session)
            other = session.clone()  # another one is free
            seen.append((e.value.code, len(other.methods())))

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Out())
    result = session(torch.ones(3), 2)
    monkeypatch.undo()
    assert seen == [("bad-state", 1)] and result.tolist() == [3] * 3
    assert session(torch.ones(3), 2).tolist() == [3] * 3


def test_a_stdout_that_fails_ends_the_call_and_not_the_session(tmp_path, monkeypatch):
    rushlight.export(calls_back, (torch.ones(3), 1), str(tmp_path / "m.rush"), test_vectors=False)
    session, fails = rushlight.load(str(tmp_path / "m.rush")), True

    class Out:
        def write(self, text):
            if fails:
                raise OSError("no space left on device")

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Out())
    with pytest.raises(OSError, match="no space left"):
        session(torch.ones(3), 2)
    fails = False
    assert session(torch.ones(3), 2).tolist() == [3] * 3


def test_a_session_entered_by_another_thread_is_refused(tmp_path, monkeypatch):
    rushlight.export(calls_back, (torch.ones(3), 1), str(tmp_path / "m.rush"), test_vectors=False)
    session, refused = rushlight.load(str(tmp_path / "m.rush")), []

    def tries():
        with pytest.raises(RuntimeError, match=BUSY):
            session(torch.ones(3), 1)
        refused.append(True)

    class Out:
        def write(self, text):
            if "inside" in text:
                other = threading.Thread(target=tries)
                other.start()
                other.join()

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Out())
    result = session(torch.ones(3), 2)
    monkeypatch.undo()
    assert refused == [True] and result.tolist() == [3] * 3


def test_a_signal_handler_that_calls_the_running_session(looping):
    seen = []

    def handler(*_):
        try:
            seen.append(looping(torch.ones(3), 1))
        except RuntimeError as e:
            seen.append(str(e))
            raise KeyboardInterrupt from None

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            looping(torch.ones(1000), 1 << 60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 1 and BUSY in seen[0]
    assert_close(looping(torch.ones(3), 1), torch.full((3,), 1.5))


def in_threads(n, work):
    """Runs work(0) to work(n - 1) at once; what they gave."""
    out, begin = [None] * n, threading.Barrier(n)

    def one(i):
        begin.wait()
        out[i] = work(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads: t.start()
    for t in threads: t.join()
    return out


def test_eight_threads_with_a_session_each_on_one_model(looping):
    def work(i):
        session = looping.clone()
        return [session(torch.full((257,), float(i)), 10 + k) for k in range(50)]

    for i, results in enumerate(in_threads(8, work)):
        for k, result in enumerate(results):
            assert torch.equal(result, loops(torch.full((257,), float(i)), 10 + k))


def test_clones_have_a_state_of_their_own(counting):
    x = torch.rand(2, 16)
    counting(x)

    def work(i):
        session = counting.clone()
        for _ in range(i):
            session(x)
        return session.state()["total"]

    once = counting.state()["total"]
    for i, total in enumerate(in_threads(8, work)):
        assert_close(total, once * (i + 1))
    assert torch.equal(counting.state()["total"], once)


def test_a_clone_goes_on_when_its_model_was_dropped(counting):
    model = rushlight.load(counting._source)
    clone, gone = model.clone(), weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    x = torch.rand(2, 16)
    assert_close(clone.clone()(x), counting(x))
    assert [r.compared for r in clone.verify()]


def test_a_clone_has_the_limits(looping):
    limited = rushlight.load(looping._source, max_steps=1000, threads=2)
    for session in limited, limited.clone():
        with pytest.raises(rushlight.RushlightError, match="1000 instructions"):
            session(torch.ones(3), 1 << 60)


def test_a_lowered_module_in_eight_threads():
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
    lowered = rushlight.lower(net, (torch.rand(3, 16),))
    inputs = [torch.rand(3, 16) for _ in range(8)]
    for run in lowered, torch.jit.script(lowered):
        def work(i, run=run):
            with torch.no_grad():
                return [run(inputs[i]) for _ in range(50)]
        for x, results in zip(inputs, in_threads(8, work)):
            assert all(torch.equal(r, results[0]) for r in results)
            assert_close(results[0], net(x))


def test_a_server_of_threads_that_share_a_session_by_mistake(tmp_path, looping):
    """All threads end, with answers or RuntimeErrors, and the process ends."""
    done = subprocess.run([sys.executable, "-c", f"""
import rushlight, threading, torch
session, seen = rushlight.load({looping._source!r}), []
def go():
    for _ in range(100):
        try:
            seen.append(session(torch.ones(1000), 50).sum().item() > 0)
        except RuntimeError as e:
            seen.append({BUSY!r} in str(e))
threads = [threading.Thread(target=go) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(seen), all(seen))
"""], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "400 True\n"), done.stderr
