"""Enums, and classes that a TorchScript program defines."""

import enum
import io
import re
import zipfile
from typing import Dict, List, Optional

import pytest
import rushlight
import torch
from recorded_programs import keep, session
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


def turns(mode: Mode, signs: List[Sign], by_name: Dict[str, Mode], maybe: Optional[Mode]):
    other = Mode.SCALE if mode == Mode.ADD else Mode.ADD
    turned = [Sign.PLUS if s == Sign.MINUS else Sign.MINUS for s in signs]
    return other, turned, {"first": mode}, maybe, (len(by_name), by_name["a"]), torch.ones(2) * mode.value


@feature("an enum as an input or result")
def test_an_enum_is_a_named_tuple_outside_the_program():
    scripted = torch.jit.script(turns)
    keep("ts_enum_outside", scripted, (Mode.ADD, [Sign.PLUS, Sign.MINUS], {"a": Mode.SCALE}, None), (Mode.SCALE, [], {"a": Mode.ADD, "b": Mode.ADD}, Mode.ADD))
    run = session("ts_enum_outside")
    for mode in Mode.ADD, ("ADD", 1), {"name": "ADD", "value": 1}:
        other, turned, held, maybe, pair, y = run(mode, [Sign.MINUS], {"a": mode}, mode)
        assert (type(other).__name__, other, other.name, other.value) == ("Mode", ("SCALE", 2), "SCALE", 2)
        assert turned == [("PLUS", 1.0)] and type(turned[0]).__name__ == "Sign" and held == {"first": ("ADD", 1)}
        assert maybe == ("ADD", 1) and pair == (1, ("ADD", 1)) and y.tolist() == [1, 1]
    again = run(other, turned, held | {"a": maybe}, None)  # the result is the next input
    assert again[0] == ("ADD", 1) and again[1] == [("MINUS", -1.0)] and again[3] is None
    with pytest.raises(rushlight.RushlightError, match="it must be the name of a member of Mode"):
        run(("SUBTRACT", 3), [], {"a": Mode.ADD}, None)
    with pytest.raises(rushlight.RushlightError, match='input "mode"'):
        run(3, [], {"a": Mode.ADD}, None)


class Takes(nn.Module):
    def forward(self, x, mode: Mode = Mode.SCALE):
        return self.apply(x, mode), mode

    def apply(self, x, mode: Mode):
        return x + mode.value if mode == Mode.ADD else x * mode.value

    @torch.jit.export
    def named(self, name: str) -> Mode:
        return Mode.ADD if name == "add" else Mode.SCALE


@feature("an enum as an input or result")
def test_an_enum_with_a_default_and_in_several_methods(tmp_path):
    net = torch.jit.script(Takes())
    report = rushlight.export(net, (torch.ones(2), Mode.ADD), tmp_path / "m.rush", methods=["forward", "named"])
    assert report.verified == 1
    run = rushlight.load(tmp_path / "m.rush")
    assert run(torch.ones(2), Mode.ADD)[0].tolist() == [2, 2] and run(torch.ones(2), Mode.SCALE)[1].name == "SCALE"
    y, mode = run(torch.ones(2))
    assert y.tolist() == [2, 2] and mode == ("SCALE", 2)
    assert run.call("named", "add") == ("ADD", 1) and run.run({"name": "x"}, "named") == {"name": "SCALE", "value": 2}
    assert net(torch.ones(2), Mode.ADD)[1] is not None  # the model itself is as it was


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


@feature("an object in an attribute that keeps its state between calls")
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


@feature("an object in an attribute that keeps its state between calls")
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


@feature("an object in an attribute that keeps its state between calls")
def test_an_attribute_may_get_another_object():
    keep("ts_object_swapped", torch.jit.script(Swaps()), (torch.rand(3), False), (torch.rand(3), True))
    wanted, got = torch.jit.script(Swaps()), session("ts_object_swapped")
    for swap in (False, True, False, True):
        x = torch.rand(3)
        assert_same(got(x, swap), wanted(x, swap))


@torch.jit.script
class Inner:
    def __init__(self, n: int):
        self.n = n
        self.mode = Mode.ADD


@torch.jit.script
class Outer:
    def __init__(self, x: Tensor, inner: Inner, names: List[str], maybe: Optional[Inner]):
        self.x = x
        self.inner = inner
        self.names = names
        self.maybe = maybe


def remakes(x, account: Account, outers: List[Outer], by_name: Dict[str, Inner]):
    account.add(2.0)
    made = Outer(x, Inner(len(outers)), ["made"], None)
    for o in outers:
        made.x = made.x + o.x * o.inner.n
        made.maybe = o.inner
    for name in by_name.keys():
        made.names.append(name)
    return account, [made], {"n": Inner(len(account))}, account is account


@feature("an object as an input or result")
def test_an_object_is_a_named_tuple_outside_the_program():
    one = Outer(torch.ones(3), Inner(2), ["a", "b"], None)
    cases = (torch.rand(3), Account(torch.zeros(3), "first"), [one, one], {"k": Inner(5)}), (torch.rand(3), Account(torch.ones(3), "second"), [], {})
    plain = [(x, (a.total, a.name, a.log), [(o.x, (o.inner.n, ("ADD", 1)), o.names, None) for o in outers], {k: (i.n, ("ADD", 1)) for k, i in d.items()})
             for x, a, outers, d in cases]
    scripted = torch.jit.script(remakes)
    keep("ts_object_outside", scripted, *plain, eager=lambda *case: answered(scripted, case))
    run = session("ts_object_outside")
    x = torch.rand(3)
    account, (made,), counted, same = run(x, *cases[0][1:])
    assert type(account).__name__ == "Account" and account._fields == ("total", "name", "log")
    assert account.total.tolist() == [2, 2, 2] and account.name == "first" and account.log == [2.0] and same
    assert cases[0][1].log == []  # the caller's own is not changed
    assert made.inner == (2, ("ADD", 1)) and made.names == ["made", "k"] and made.maybe.n == 2 and type(made.maybe).__name__ == "Inner"
    assert_same(made.x, x + 4)
    assert counted == {"n": (1, ("ADD", 1))}
    assert run(x, account, [made], counted)[0].log == [2.0, 2.0]  # the result is the next input
    by_name = {"total": torch.zeros(3), "name": "dict", "log": []}
    assert run(x, by_name, [], {})[0].name == "dict"


def answered(scripted, case):
    """Returns the function's answer to plain values, as plain values."""
    x, (total, name, log), outers, by_name = case

    def inner(values):
        return Inner(values[0])

    account = Account(total, name)
    account.log = list(log)
    account, (made,), counted, same = scripted(x, account, [Outer(o[0], inner(o[1]), list(o[2]), None) for o in outers], {k: inner(i) for k, i in by_name.items()})
    small = lambda i: None if i is None else (i.n, (i.mode.name, i.mode.value))  # noqa: E731
    return ((account.total, account.name, account.log), [(made.x, small(made.inner), made.names, small(made.maybe))], {k: small(i) for k, i in counted.items()}, same)


@torch.jit.script
class Empty:
    def __init__(self):
        pass


@feature("an object without attributes as a result", rushlight="refuses")
def test_an_object_that_holds_nothing_is_refused_as_a_result(tmp_path):
    def gives(x):
        return [Empty()]

    with pytest.raises(rushlight.RushlightError, match="must not be used as a value, got %\\d+ of type .*Empty"):
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
    with pytest.raises(rushlight.RushlightError, match="test_torchscript_objects.*cannot sort objects of type .*Ranked by __lt__"):
        rushlight.export(program, (5,), tmp_path / "m.rush")


@feature("objects sorted by one of their numbers")
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


class Scale0:
    def __init__(self, by: float):
        self.by = by


class Scale1:
    def __init__(self, by: Tensor, shift: int):
        self.by = by
        self.shift = shift


def scaled0(x: Tensor, how: Scale0):
    return x * how.by


def scaled1(x: Tensor, how: Scale1):
    return x * how.by + how.shift


def saved_as_scale(function):
    """The function, loaded from a file in which its class is called Scale_."""
    buffer, renamed = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.script(function), buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(renamed, "w") as new:
        for name in old.namelist():
            if ".debug_pkl" not in name:
                new.writestr(name, re.sub(rb"Scale\d", b"Scale_", old.read(name)))
    renamed.seek(0)
    return torch.jit.load(renamed)


@feature("classes of one name in two files")
def test_a_class_of_another_file_with_the_same_name_is_another_class(tmp_path):
    programs = [saved_as_scale(scaled0), saved_as_scale(scaled1)]
    types = [str([i.type() for i in program.graph.inputs()][-1]) for program in programs]
    assert types[0] == types[1]
    x, inputs = torch.rand(3), [Scale0(2.5), Scale1(torch.rand(3), 4)]
    for program, how, want in zip(programs, inputs, [scaled0(x, inputs[0]), scaled1(x, inputs[1])], strict=True):
        rushlight.export(program, (x, how), tmp_path / "scale.rush")
        torch.testing.assert_close(rushlight.load(tmp_path / "scale.rush")(x, how), want)
