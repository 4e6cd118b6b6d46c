"""Sessions as values: their state, and pickled."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Dict, List

import pytest
import rushlight
import torch
from torch import Tensor, nn


class Keeps(nn.Module):
    count: int
    seen: List[str]

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))
        self.register_buffer("tail", self.sum[1:])
        self.count = 0
        self.seen = []

    def forward(self, x: Tensor):
        self.count += 1
        self.sum.add_(x)
        self.seen.append(str(self.count))
        return self.sum * 1, self.tail * 1, self.count, ",".join(self.seen)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "keeps.rush"
    rushlight.export(torch.jit.script(Keeps()), (torch.ones(3),), path)
    return path


def equal(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert torch.equal(x, y) if isinstance(x, Tensor) else x == y


def test_state_is_a_copy(file):
    session = rushlight.Session(file)
    session(torch.ones(3))
    state = session.state()
    assert set(state) == {"sum", "tail", "count", "seen"} and state["count"] == 1 and state["seen"] == ["1"]
    assert state["sum"].tolist() == [1, 1, 1]
    second = session(torch.ones(3))
    assert state["sum"].tolist() == [1, 1, 1] and state["seen"] == ["1"]
    session.set_state(state)
    equal(session(torch.ones(3)), second)


def test_tensors_that_share_memory_share_it_in_the_copy(file):
    session, other = rushlight.Session(file), rushlight.Session(file)
    session(torch.ones(3))
    state = session.state()
    state["sum"][2] = 7
    assert state["tail"].tolist() == [1, 7]
    other.set_state(state)
    assert other(torch.ones(3))[1].tolist() == [2, 8]


def test_some_attributes_may_be_set_and_no_others(file):
    session = rushlight.Session(file)
    session.set_state({"count": 41, "seen": []})
    assert session(torch.zeros(3))[2:] == (42, "42")
    with pytest.raises(ValueError, match="writes no attribute 'other'; it writes .*sum"):
        session.set_state({"other": 1})
    with pytest.raises(rushlight.RushlightError) as e:
        session.set_state({"count": "one"})
    assert e.value.code == "bad-argument"
    session.reset()
    assert session(torch.zeros(3))[2] == 1


@pytest.mark.parametrize("of_bytes", [False, True])
def test_a_pickled_session_goes_on_where_it_was(file, of_bytes):
    session = rushlight.Session(file.read_bytes() if of_bytes else file, threads=2, max_bytes=10**8)
    session(torch.ones(3))
    pickled = pickle.dumps(session)
    file.unlink()
    other = pickle.loads(pickled)
    equal(other(torch.ones(3)), session(torch.ones(3)))
    equal(pickle.loads(pickle.dumps(other))(torch.ones(3)), session(torch.ones(3)))
    small = pickle.dumps(rushlight.Session(pickle.loads(pickled)._source, max_steps=1))
    with pytest.raises(rushlight.RushlightError):
        pickle.loads(small)(torch.ones(3))


def test_a_file_that_has_changed_is_not_pickled(file):
    session = rushlight.Session(file)
    file.write_bytes(file.read_bytes() + b"\0")
    with pytest.raises(pickle.PicklingError, match="has changed since the session loaded it"):
        pickle.dumps(session)


def count(session):
    return session(torch.ones(3))[2]


def test_a_session_goes_to_another_process(file):
    session = rushlight.Session(file)
    session(torch.ones(3))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(count, session).result() == 2
    assert count(session) == 2


@torch.jit.script
def found(a: Tensor, kept: Dict[Tensor, int]):
    return kept[a] if a in kept else -1, a is list(kept.keys())[0]


def test_a_tensor_that_is_given_twice_is_one_tensor(tmp_path):
    x, y = torch.rand(2, 3)
    rushlight.export(found, (x, {y: 5}), tmp_path / "found.rush")
    session = rushlight.load(tmp_path / "found.rush")
    for given in (x, {x: 5, y: 6}), (y, {x: 5, y: 6}), (x, {y: 5}), (x, {x.detach(): 5}), (x, {x.view(3): 5, x: 6}):
        assert session(*given) == found(*given)
