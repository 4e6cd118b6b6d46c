"""Enums, and classes that a TorchScript program defines."""

import enum
from typing import Dict, List, Optional

import pytest
import rushlight
import torch
from kept import keep, session
from torch import Tensor, nn


def feature(name, **how):
    return pytest.mark.feature("TorchScript", name, **how)


class Mode(enum.Enum):
    ADD = 1
    SCALE = 2


class Sign(enum.Enum):
    PLUS = 1.0
    MINUS = -1.0


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.fixed = Mode.SCALE

    def apply(self, x, mode: Mode):
        if mode == Mode.ADD:
            return x + mode.value
        return x * mode.value

    def forward(self, x, n: int):
        mode = Mode.ADD if n == 0 else self.fixed
        signs = [s.value for s in Sign]
        for sign in Sign:
            x = x * sign.value + n
        return self.apply(x, mode), mode.name, mode != Mode.ADD, signs


@feature("enums")
def test_enums_compared_named_iterated_and_in_attributes():
    keep("ts_enums", torch.jit.script(Chooses()), (torch.rand(3), 0), (torch.rand(3), 1))


def says_enums(n: int):
    mode = Mode.ADD if n == 0 else Mode.SCALE
    print(mode, [Mode.ADD, mode], (Sign.PLUS, n))
    return f"{mode}", str(mode)


@feature("enums")
def test_enums_as_text_are_libtorchs(capfd):
    keep("ts_enum_text", torch.jit.script(says_enums), (0,), (1,))
    capfd.readouterr()
    torch.jit.script(says_enums)(1)
    wanted = capfd.readouterr().out
    session("ts_enum_text")(1)
    assert capfd.readouterr().out == wanted != ""


@feature("an enum as an input or result", rushlight="refuses")
def test_an_enum_outside_the_program_is_refused(tmp_path):
    def takes(mode: Mode):
        return mode.value

    def gives(n: int):
        return Mode.ADD if n > 0 else Mode.SCALE

    with pytest.raises(rushlight.RushlightError, match="the input 'mode' is of type Enum.*Mode"):
        rushlight.export(torch.jit.script(takes), None, tmp_path / "m.rush")
    with pytest.raises(rushlight.RushlightError, match="the result of forward is of type Enum.*Mode"):
        rushlight.export(torch.jit.script(gives), None, tmp_path / "m.rush")


@torch.jit.script
class Account:
    def __init__(self, start: Tensor, name: str):
        self.total = start
        self.name = name
        self.log: List[float] = []

    def add(self, amount: float):
        self.total = self.total + amount
        self.log.append(amount)
        return self

    def __len__(self) -> int:
        return len(self.log)

    @staticmethod
    def empty(x: Tensor):
        return Account(x * 0, "empty")


def objects(x, n: int):
    a = Account(x, "first")
    b = a
    for i in range(n):
        b.add(float(i)).add(0.5)
    other = Account.empty(x)
    other.total += 1
    return a.total, len(a), a.log, b.name, b is a, other is a, other.total


@feature("classes: methods, aliases, mutation")
def test_objects_are_seen_through_their_aliases():
    keep("ts_objects", torch.jit.script(objects), (torch.rand(3), 0), (torch.rand(3), 3))


def made(x, n: int) -> Optional[Account]:
    if n == 0:
        return None
    return Account(x, str(n))


def held(x, n: int):
    rows = [Account(x, str(i)) for i in range(n)]
    named: Dict[str, Account] = {"first": rows[0], "last": rows[-1]}
    pair = (rows[0], n)
    named["last"].add(2.0)
    pair[0].add(1.0)
    total = torch.zeros(3)
    for row in rows:
        total = total + row.total
    found = made(x, n - 1)
    if found is not None:
        total = total + found.add(5.0).total
    return total, len(rows[0]), rows[-1].log, [r.name for r in rows]


@feature("objects in lists, dicts, tuples, optionals; returned from functions")
def test_objects_in_containers_and_returned_from_functions():
    keep("ts_objects_held", torch.jit.script(held), (torch.rand(3), 1), (torch.rand(3), 3))


class Bank(nn.Module):
    def __init__(self):
        super().__init__()
        self.account = Account(torch.zeros(3), "bank")

    def forward(self, x):
        self.account.add(2.0)
        return x + self.account.total, len(self.account)


@feature("an object in an attribute, its state kept between calls")
def test_an_object_in_an_attribute_is_state():
    keep("ts_object_attribute", torch.jit.script(Bank()), (torch.rand(3),), eager=torch.jit.script(Bank()))
    wanted, got = torch.jit.script(Bank()), session("ts_object_attribute")
    for _ in range(3):
        x = torch.rand(3)
        assert_same(got(x), wanted(x))
    got.reset()
    assert got(torch.rand(3))[1] == 1


class Many(nn.Module):
    accounts: List[Account]

    def __init__(self):
        super().__init__()
        self.accounts = [Account(torch.zeros(3), "a"), Account(torch.ones(3), "b")]

    def forward(self, x, i: int):
        self.accounts[i].add(1.0)
        total = x
        for a in self.accounts:
            total = total + a.total
        return total, [len(a) for a in self.accounts]


@feature("an object in an attribute, its state kept between calls")
def test_objects_in_a_list_in_an_attribute_are_state():
    keep("ts_object_list", torch.jit.script(Many()), (torch.rand(3), 0), eager=torch.jit.script(Many()))
    wanted, got = torch.jit.script(Many()), session("ts_object_list")
    for i in (0, 1, 1):
        x = torch.rand(3)
        assert_same(got(x, i), wanted(x, i))


class Swaps(nn.Module):
    def __init__(self):
        super().__init__()
        self.account = Account(torch.zeros(3), "first")

    def forward(self, x, swap: bool):
        before = self.account
        if swap:
            self.account = Account(x, "new")
        self.account.add(1.0)
        return before.total, self.account.total, len(before), before is self.account


@feature("an object in an attribute, its state kept between calls")
def test_an_attribute_may_get_another_object():
    keep("ts_object_swapped", torch.jit.script(Swaps()), (torch.rand(3), False), (torch.rand(3), True))
    wanted, got = torch.jit.script(Swaps()), session("ts_object_swapped")
    for swap in (False, True, False, True):
        x = torch.rand(3)
        assert_same(got(x, swap), wanted(x, swap))


@feature("an object as a result", rushlight="refuses")
def test_an_object_as_a_result_is_refused(tmp_path):
    def gives(x):
        return [Account(x, "a")]

    with pytest.raises(rushlight.RushlightError, match="the result of forward is of type Object.*Account.*pass what it holds"):
        rushlight.export(torch.jit.script(gives), None, tmp_path / "m.rush")


@torch.jit.script
class Ranked:
    def __init__(self, rank: int):
        self.rank = rank

    def __lt__(self, other: "Ranked") -> bool:
        return self.rank < other.rank


@feature("a list of objects sorted by their own __lt__", rushlight="refuses")
@pytest.mark.parametrize("how", ["sort", "sorted", "tuples"])
def test_objects_sorted_by_their_own_comparison_are_refused(how, tmp_path):
    def sort(n: int):
        items = [Ranked(i * 7 % 5) for i in range(n)]
        items.sort()
        return [item.rank for item in items]

    def in_a_copy(n: int):
        return [item.rank for item in sorted([Ranked(i * 7 % 5) for i in range(n)])]

    def tuples(n: int):
        items = [(i % 2, Ranked(i * 7 % 5)) for i in range(n)]
        items.sort()
        return [item[1].rank for item in items]

    program = torch.jit.script({"sort": sort, "sorted": in_a_copy, "tuples": tuples}[how])
    program(5)
    with pytest.raises(rushlight.RushlightError, match="test_torchscript_objects.*sorts objects of type .*Ranked by their __lt__"):
        rushlight.export(program, (5,), tmp_path / "m.rush")


@feature("objects in the order of a number of theirs")
def test_objects_taken_in_the_order_of_tuples():
    def ranked(n: int):
        items = [Ranked(i * 7 % 5) for i in range(n)]
        order = [(item.rank, i) for i, item in enumerate(items)]
        order.sort()
        return [items[i].rank for _, i in order], [i for _, i in order]

    keep("ts_objects_in_order", torch.jit.script(ranked), (5,), (40,), (0,))


def assert_same(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        torch.testing.assert_close(g, w)
