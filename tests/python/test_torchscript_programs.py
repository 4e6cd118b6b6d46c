"""The language of TorchScript programs: control flow, types, containers, text, numbers. There is one test per line of the
documentation. Rows of tests/conformance test each in more detail.
"""

import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy
import pytest
import rushlight
import torch
from recorded_programs import keep, session
from torch import Tensor, nn
from torch._jit_internal import BroadcastingList2
from torch.nn import functional as F


def feature(name, **how):
    return pytest.mark.feature("TorchScript", name, **how)


def script(name, f, *cases, **options):
    return keep(f"ts_{name}", torch.jit.script(f), *cases, **options)


def branches(x, n: int):
    if n < 0:
        y = x - 1
    elif n == 0:
        y = x
    elif bool(x.mean() > n):
        y = x * n
    else:
        y = -x
    return y


@feature("if, elif, else")
def test_if_elif_else():
    script("branches", branches, *[(torch.ones(3) * 2, n) for n in (-1, 0, 1, 5)])


def loops(x, n: int):
    total = torch.zeros(3)
    for i in range(n):
        if i == 2:
            continue
        if i > 5:
            break
        total = total + x * i
    count = 0
    while bool(total.sum() < 100) and count < 10:
        total = total * 2 + 1
        count += 1
    return total, count


@feature("for, while, break, continue")
def test_for_while_break_continue():
    script("loops", loops, *[(torch.rand(3), n) for n in (0, 3, 9)])


def leaves(x, n: int):
    for i in range(n):
        if i * i > 10:
            return x * i, i
        for j in range(i):
            if j == 3:
                return x - j, j
    return x, -1


@feature("early return")
def test_early_return():
    script("early_return", leaves, *[(torch.rand(3), n) for n in (0, 2, 9)])


def inner(x, scale: float):
    return x * scale


class Methods(nn.Module):
    def half(self, x):
        return inner(x, 0.5)

    def quarter(self, x):
        return self.half(self.half(x))

    def forward(self, x):
        return self.quarter(x) + self.half(x)


@feature("nested functions and methods")
def test_nested_functions_and_methods():
    def outer(x):
        return inner(inner(x, 2.0), 3.0)

    script("functions", outer, (torch.rand(3),))
    script("methods", Methods(), (torch.rand(3),))


def asserts(x, n: int):
    assert n > 0, f"n is {n}, which is too small"
    return x * n


def raises(x, n: int):
    if n > 2:
        raise ValueError("n is {}".format(n))
    return x * n


def asserts_nothing_said(x, n: int):
    assert n > 0
    return x * n


@feature("assert and raise, with their messages")
def test_assert_and_raise_reach_the_user_with_their_message():
    script("asserts", asserts, (torch.rand(3), 1))
    script("asserts_refused", asserts, (torch.rand(3), 0), raises="n is 0, which is too small")
    script("raises", raises, (torch.rand(3), 1))
    script("raises_refused", raises, (torch.rand(3), 7), raises="n is 7")
    script("asserts_in_silence", asserts_nothing_said, (torch.rand(3), -1), raises="AssertionError")
    with pytest.raises(rushlight.RushlightError) as error:
        session("ts_raises_refused")(torch.rand(3), 7)
    assert error.value.code == "model-raised"
    assert "builtins.ValueError: n is 7" in str(error.value) or "ValueError" in str(error.value)
    line = raises.__code__.co_firstlineno + 2
    assert f"test_torchscript_programs.py:{line}" in str(error.value)


def says(x, n: int):
    print("n", n, 1.0, n / 2, x[:2], [1.5, 2.0], {"a": n}, (n, "b"), None, n > 1)
    return x


@feature("print")
def test_print_is_libtorchs_text_on_stdout(capfd):
    x = torch.tensor([0.5, -1.0, 2.0])
    script("prints", says, (x, 3))
    capfd.readouterr()
    torch.jit.script(says)(x, 3)
    wanted = capfd.readouterr().out
    session("ts_prints")(x, 3)
    assert capfd.readouterr().out == wanted != ""


@feature("print")
def test_print_goes_through_sys_stdout(capsys):
    script("prints", says, (torch.rand(3), 3))
    capsys.readouterr()
    session("ts_prints")(torch.tensor([0.5, -1.0]), 3)
    assert capsys.readouterr().out.startswith("n 3 1. 1.5  0.5000\n-1.0000\n[ CPUFloatType{2} ] [1.5, 2.]")


def perhaps(x, y: Optional[Tensor], n: Optional[int]):
    if y is None:
        y = x * 2
    if n is not None and n > 2:
        y = y + n
    assert y is not None
    return y, n


@feature("optional types and their refinement")
def test_optional_values_and_their_refinement():
    script("optional", perhaps, (torch.rand(3), None, None), (torch.rand(3), torch.rand(3), 1), (torch.rand(3), None, 5))


def one_of(x, n: int):
    u: Union[int, str, List[int], Tensor] = n
    if n == 0:
        u = x
    elif n == 1:
        u = "word"
    elif n == 2:
        u = [n, n]
    if isinstance(u, Tensor):
        return u + 1, 0
    elif isinstance(u, str):
        return x, len(u)
    elif isinstance(u, int):
        return x * u, u
    else:
        return x - 1, u[0]


@feature("union types and isinstance narrowing")
def test_union_narrowed_by_isinstance():
    script("union", one_of, *[(torch.rand(3), n) for n in (0, 1, 2, 3)])


def any_of(x: Union[Tensor, List[Tensor], Tuple[Tensor, Tensor]]) -> Tensor:
    if isinstance(x, Tensor):
        return x
    elif isinstance(x, list):
        return torch.cat(x)
    return x[0] - x[1]


def scaled(x: Tensor, by: Optional[Union[int, Tensor]]):
    if by is None:
        return x
    if isinstance(by, int):
        return x + by
    return x * by


def gives_unions(x, n: int):
    return any_of(x), any_of([x, x]), any_of((x, x * 2)), scaled(x, None), scaled(x, n), scaled(x, x)


@feature("union types and isinstance narrowing")
def test_functions_of_unions_called_with_known_types():
    script("unions_known", gives_unions, (torch.rand(3), 2))


@torch.jit.script
class Ranges:
    def __init__(self, ends: Tensor):
        self.ends = ends

    def sums(self, x: Tensor) -> Tensor:
        return torch.sparse_csr_tensor(self.ends, x, x).to_dense()  # which a file cannot do


def at(x, places: Union[Tensor, Ranges], weight: Optional[Union[Tensor, Ranges]] = None, ranges: Optional[Ranges] = None):
    if isinstance(places, Ranges):
        y = places.sums(x)
    elif places.is_sparse or places.layout == torch.sparse_csr:
        y = torch.smm(places, x)
    else:
        y = x.index_select(0, places)
    if ranges is not None:
        y = ranges.sums(y)
    if isinstance(weight, Tensor):
        y = y * weight
    return y


@feature("inputs that may also be objects of the program's classes, or sparse")
def test_inputs_that_may_be_objects_are_the_others():
    x, places = torch.rand(3, 2), torch.tensor([2, 0])
    script("union_of_objects", at, (x, places), (x, places, torch.rand(2, 1)), (x, places, None, None))


def kinds_of(x: Union[Tensor, List[Tensor], List[int], Tuple[Tensor, Tensor], Tuple[int]], n: Optional[Tuple[int, int]] = None):
    tuples = isinstance(x, tuple), isinstance(x, (tuple, Tensor)), isinstance(n, tuple)
    lists = isinstance(x, list), isinstance(x, (list, tuple)), isinstance(x, List[int])
    return tuples, lists


@feature("union types and isinstance narrowing")
def test_union_asked_for_a_list_or_tuple_of_any_types():
    x = torch.rand(2)
    script("any_tuple", kinds_of, (x,), ([x],), ([3],), ((x, x),), ((7,),), (x, (1, 2)))


def is_tuple(x: Any) -> bool:
    return isinstance(x, tuple)


def test_whether_anything_is_a_tuple_is_refused(tmp_path):
    with pytest.raises(rushlight.RushlightError, match="cannot test whether a value of type Any is a tuple: .*Union"):
        rushlight.export(torch.jit.script(is_tuple), (1,), str(tmp_path / "m.rush"))


class Named(NamedTuple):
    first: Tensor
    count: int


def containers(x, n: int):
    xs = [i * i for i in range(n)]
    xs.append(7)
    xs.extend([1, 2])
    xs.insert(0, 5)
    last = xs.pop()
    xs.sort()
    xs.reverse()
    t = (x, n, "three")
    a, b, c = t
    pair = Named(x * 2, n)
    d: Dict[str, Tensor] = {"x": x}
    d["y"] = a + b
    d.update({"z": x})
    keys = [k.upper() for k in d.keys()]
    found = "y" in d and 7 in xs
    total = torch.zeros(3)
    for key, value in d.items():
        total = total + value * len(key)
    words = "a b,c".split(" ")
    text = "-".join(words).replace("b", c)
    return xs, last, pair.first + pair.count, keys, found, total, text, text.startswith("a"), xs[1:-1], t[1:]


@feature("lists, tuples, named tuples, dicts, strings, comprehensions")
def test_containers_and_strings():
    script("containers", containers, (torch.rand(3), 0), (torch.rand(3), 4))


def formats(n: int, f: float, s: str):
    return f"{n} {f} {s} {n > 1}", "{} and {}".format(f, n), "%d %s %.3f" % (n, s, 1.0) if n > 99 else "%d %s" % (n, s)


@feature("f-strings, format, %: libtorch's text")
def test_f_strings_and_format_are_libtorchs_text():
    script("formats", formats, (1, 1.0, "a"), (-5, 0.1, ""), (3, float("inf"), "é"), (3, float("nan"), "b"), (2, 1e20, "c"))


def int_arithmetic(a: int, b: int):
    return a + b, a - b, a * b, a // b, a % b, a / b, -a // b, a ** 2, divmod(a, b), a << 2, a >> 1, a & b, a | b, a ^ b, abs(a)


def float_arithmetic(a: float, b: float):
    return a + b, a * b, a / b, a // b, a % b, a ** b, divmod(a, b), round(a), int(a), math.floor(a), max(a, b), -a


@feature("int and float arithmetic, with overflow")
def test_arithmetic_is_torchscripts():
    big = 2**62 + 12345
    script("int_arithmetic", int_arithmetic, (7, 3), (-7, 3), (7, -3), (-7, -3), (big, 5), (-big, 5), (2**63 - 1, 2))
    script("float_arithmetic", float_arithmetic, (7.5, 2.0), (-7.5, 2.0), (7.5, -2.5), (1e15, 3.0), (-0.5, 2.0))
    script("division_by_zero", lambda_free_division, (1, 0), raises="")


def lambda_free_division(a: int, b: int):
    return a // b


def forks(x, n: int):
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(n):
        futures.append(torch.jit.fork(branches, x * i, i))
    later = torch.jit.fork(inner, x, 2.0)
    total = torch.zeros(3)
    for future in futures:
        total = total + torch.jit.wait(future)
    return total + later.wait()


@feature("torch.jit.fork, wait, Future, run in place")
def test_fork_and_wait_run_in_place():
    script("forks", forks, *[(torch.rand(3), n) for n in (0, 1, 4)])


class Pending(NamedTuple):
    future: torch.jit.Future[Tensor]
    others: List[torch.jit.Future[Tensor]]
    n: int


def started(x) -> Pending:
    return Pending(torch.jit.fork(inner, x, 3.0), [torch.jit.fork(inner, x, float(i)) for i in range(2)], 4)


def waits(x):
    pending = started(x)
    total = pending.future.wait() * pending.n
    for other in pending.others:
        total = total + torch.jit.wait(other)
    return total


def test_a_named_tuple_may_hold_futures():
    script("pending_futures", waits, (torch.rand(3),))


def without_gradients(x):
    with torch.no_grad():
        y = x * 2
        if y.requires_grad:
            y = y + 1
    return y + 1


@feature("torch.no_grad regions")
def test_no_grad_regions():
    script("no_grad", without_gradients, (torch.rand(3),))


def grid(x, rows: int):
    fixed = [[0, 0, 0], [0, 0, 0]]
    for i in range(2):
        for j in range(3):
            fixed[i][j] = i * 3 + j
    free = [[0 for _ in range(2)] for _ in range(rows)]
    for row in free:
        row[1] = len(free)
    tensors = [[x, x], [x]]
    for i in range(2):
        tensors[i][0] = x * i
    named = {"a": [1, 2]}
    for i in range(2):
        named["a"][i] += i
    return fixed, free, tensors, named


@torch.jit.script
class Scope:
    def __init__(self, n: int):
        self.n = n
        self.log: List[str] = []

    def __enter__(self):
        self.log.append("in")
        return self.n

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.log.append("out")
        self.n += 10


def enters(x, n: int):
    scope = Scope(n)
    with scope as k:
        x = x + k
        if n > 2:
            with torch.no_grad(), scope as again:
                return x * again, scope.n, scope.log
    with torch.autograd.profiler.record_function("named"), Scope(5) as other:
        x = x + other
    return x, scope.n, scope.log


@feature("with, on objects of the program's own classes and on record_function")
def test_with_calls_the_methods_of_the_object():
    script("with", enters, (torch.rand(3), 1), (torch.rand(3), 4))


@feature("torch.profiler's regions in a trace")
def test_regions_of_the_profiler_leave_a_trace():
    class Regions(torch.nn.Module):
        def forward(self, x):
            with torch.profiler.record_function("outer"):
                handle = torch.ops.profiler._record_function_enter("inner")
                y = x * 2
                torch.ops.profiler._record_function_exit(handle)
            return y + 1

    x = torch.rand(3)
    traced = torch.jit.trace(Regions(), x)
    assert "profiler::_record_function_enter_new" in str(traced.inlined_graph)
    report = keep("profiler_regions", traced, (x,))
    assert sorted(report.ops) == ["aten::add.Scalar", "aten::mul.Scalar"]


def counts_pairs(pair: Named, others: List[Named]) -> Tuple[Tensor, int]:
    total = pair.first * pair.count
    for other in others:
        total = total + other.first
    return total, len(others)


@feature("lists, tuples, named tuples, dicts, strings, comprehensions")
def test_named_tuples_as_inputs():
    pair = Named(torch.rand(3), 2)
    script("named_inputs", counts_pairs, (pair, [pair, Named(torch.rand(3), 1)]), (pair, []))


class Outer(NamedTuple):
    inner: Named
    many: List[Named]
    perhaps: Optional[Named]


def gives_named(x, n: int) -> Tuple[Outer, Dict[str, Named]]:
    named = Named(x, n)
    return Outer(named, [named, Named(x + 1, 2)], named if n > 0 else None), {"k": named}


@feature("lists, tuples, named tuples, dicts, strings, comprehensions")
def test_named_tuples_as_results():
    script("named_results", gives_named, (torch.rand(3), 0), (torch.rand(3), 1))
    outer, named = session("ts_named_results")(torch.rand(3), 3)
    assert outer._fields == Outer._fields and outer.perhaps.count == named["k"].count == 3
    assert [v._fields for v in outer.many] == [("first", "count")] * 2


def magnitude(x, n: int):
    return abs(x), abs(x.long()), abs(n), abs(-1.5)


@feature("abs(), of tensors too")
def test_abs():
    script("abs", magnitude, (torch.randn(3) * 5, -4))


@feature("a call of a Python function, torch.jit.ignore", rushlight="refuses")
def test_a_call_of_python_is_refused_by_name(tmp_path):
    class Calls(nn.Module):
        @torch.jit.ignore
        def plot(self, x) -> None:
            pass

        def forward(self, x):
            self.plot(x)
            return x

    with pytest.raises(rushlight.RushlightError, match=r"test_torchscript_programs.py:\d+: cannot export a call of the Python function 'plot'"):
        rushlight.export(torch.jit.script(Calls()), None, tmp_path / "m.rush")


@feature("writes into nested lists, in loops")
def test_nested_lists_written_in_loops():
    script("nested_lists", grid, (torch.rand(3), 0), (torch.rand(3), 2))


class Holds(nn.Module):
    def forward(self, x):
        table = [[1, 2], [3, 4]]
        for i in range(2):
            table[i][0] = 9
            row = table[i]
            row.append(i)
        rows: List[Tuple[int, List[int]]] = [(0, [0]), (1, [1])]
        for i in range(2):
            rows[i][1].append(5)
        return x, table, rows


@feature("writes into nested lists, in loops")
def test_nested_lists_of_a_module_written_in_loops():
    script("nested_lists_module", Holds(), (torch.rand(3),))


def numbers_of_all_kinds(n: int, f: float, b: bool, s: List[float], d: Dict[str, float], o: Optional[int] = None):
    return n, f, b, s, d["a"], o


@feature("bools, NumPy's scalars and one-element tensors for int, float and bool arguments")
def test_numbers_given_for_other_types():
    plain = (2, 1.5, True, [1.0], {"a": 2.0}, 3)
    script("numbers_of_all_kinds", numbers_of_all_kinds, plain)
    wanted, got = torch.jit.script(numbers_of_all_kinds), session("ts_numbers_of_all_kinds")
    others = ((True, torch.tensor(3), numpy.int64(4)), (1, True, torch.tensor(2.5), torch.tensor([3]), numpy.float32(0.5)),
              (0, 2, torch.tensor(True), numpy.bool_(False)), ([1, True, 2.5], []), ({"a": 1}, {"a": True}), (False, None))
    for i, values in enumerate(others):
        for value in values:
            args = (*plain[:i], value, *plain[i + 1:])
            assert repr(got(*args)) == repr(wanted(*args)), args
    for i, value in ((0, 2.0), (0, "2"), (1, "1"), (0, torch.tensor([1, 2])), (2, "yes"), (3, [None])):
        args = (*plain[:i], value, *plain[i + 1:])
        with pytest.raises(RuntimeError):
            wanted(*args)
        with pytest.raises(rushlight.RushlightError, match="must be"):
            got(*args)


def later(x, n: int):
    return x * n, n + 1


def awaits(x, n: int):
    some, known = torch.jit._awaitable(later, x, n), torch.jit._awaitable_nowait(x + 1)
    if n > 2:
        return torch.jit._awaitable_wait(known)
    y, m = torch.jit._awaitable_wait(some)
    return y + torch.jit._awaitable_wait(known) + m


def write_later(x):
    x.add_(1)
    return x


def awaits_a_write(x):
    some = torch.jit._awaitable(write_later, x)
    y = x * 2
    return y + torch.jit._awaitable_wait(some)


@feature("torch.jit._awaitable of a pure computation, run in place")
def test_awaitables_run_in_place(tmp_path):
    script("awaits", awaits, (torch.rand(3), 1), (torch.rand(3), 3))
    with pytest.raises(rushlight.RushlightError, match="prim::awaitable, 1 time"):
        rushlight.export(torch.jit.script(awaits_a_write), (torch.rand(3),), tmp_path / "m.rush")


def not_found(x) -> Optional[Tensor]:
    return None


def test_an_optional_result_that_is_always_none():
    script("not_found", not_found, (torch.rand(3),))


def never(x) -> int:
    raise RuntimeError("not today")


def test_a_program_that_always_raises(tmp_path):
    rushlight.export(torch.jit.script(never), path=tmp_path / "m.rush", verify=False)
    with pytest.raises(rushlight.RushlightError, match="not today"):
        rushlight.load(tmp_path / "m.rush")(torch.rand(3))


def initializes(x):
    a, b = nn.init.constant_(torch.empty(2, 3), 1.5), nn.init.zeros_(torch.empty(2))
    c = nn.init.uniform_(torch.empty(2, 3), -1.0, 1.0)
    return a, nn.init.ones_(b), c, nn.init.normal_(x.clone(), 1.0, 2.0), x.is_leaf, x.retains_grad, x.is_pinned()


@feature("torch.nn.init in a program")
def test_torch_nn_init():
    script("initializes", initializes, (torch.rand(3),))


def complex_and_int_numbers(z: complex, s: List[complex], i: List[int], t: int):
    return z * s[0], s, i, torch.zeros(2, dtype=t)


@feature("complex numbers; ranges, dtypes and real numbers as arguments")
def test_ranges_dtypes_and_real_numbers_as_arguments():
    plain = (1 + 2j, [3j, 4 + 0j], [0, 1], torch.float64)
    script("complex_and_int_numbers", complex_and_int_numbers, plain)
    wanted, got = torch.jit.script(complex_and_int_numbers), session("ts_complex_and_int_numbers")
    for args in (plain, (2, [1, 2.5, True], range(3), torch.int32), (2.5, [1j], range(9, 2, -3), torch.complex64)):
        assert repr(got(*args)) == repr(wanted(*args)), args


def one_or_several(x, k: BroadcastingList2[int]):
    return F.max_pool2d(x, k)


def test_one_number_is_an_example_for_a_list_of_them(tmp_path):
    model, x = torch.jit.script(one_or_several), torch.rand(1, 2, 6, 6)
    rushlight.export(model, (x, 3), tmp_path / "m.rush")
    assert torch.equal(rushlight.load(tmp_path / "m.rush")(x, [3, 3]), model(x, 3))


@feature("a torch.device as an input", rushlight="refuses")
def test_a_device_is_no_input(tmp_path):
    @torch.jit.script
    def ones_like(x: Tensor, where: torch.device):
        return torch.ones(3, device=where) + x

    with pytest.raises(rushlight.RushlightError, match="the input 'where' must not be a torch.device, because a file runs on the CPU alone"):
        rushlight.export(ones_like, (torch.rand(3), torch.device("cpu")), tmp_path / "m.rush")

    @torch.jit.script
    def ones(x: Tensor, where: Optional[torch.device] = None):
        return torch.ones(3, device=where) + x

    script("optional_device", ones, (torch.rand(3),))


def spread(x):
    ends, middle = torch.quantile(x, torch.tensor([0.1, 0.9]), 1), torch.nanquantile(x, 0.5)
    return ends, middle, torch.nanmean(x, 0, True), torch.combinations(x[0], 3), torch.logcumsumexp(x, 1)


@feature("quantile, nanquantile, nanmean, combinations, logcumsumexp")
def test_quantiles_and_combinations():
    script("spread", spread, (torch.randn(3, 5),), (torch.tensor([[1.0, float("nan"), 3.0]]),))


def by_lists(x, y):
    return torch.einsum(x, [0, 1], y, [1, 51], [51, 0]), torch.einsum(x, [0, 1], y, [1, 2])


def by_a_number(x, i: int):
    return torch.einsum(x, [0, i])


@feature("torch.einsum with lists of subscripts")
def test_einsum_with_lists(tmp_path):
    script("by_lists", by_lists, (torch.rand(3, 4), torch.rand(4, 5)), (torch.rand(1, 2), torch.rand(2, 0)))
    with pytest.raises(rushlight.RushlightError, match=r"aten::einsum.sublist, 1 time"):
        rushlight.export(torch.jit.script(by_a_number), (torch.rand(3, 3), 0), tmp_path / "m.rush")
