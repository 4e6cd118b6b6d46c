"""Constraints on sizes in a file: from dynamic_shapes, and from an ExportedProgram."""

import re
import typing
import warnings

import pytest
import reader
import rushlight
import torch
from torch import nn
from torch.export import Dim

ANY = 2**63 - 1


class Scaled(nn.Module):
    def forward(self, x, y):
        return x * y.sum()


class Rows(nn.Module):
    def forward(self, x, y):
        return x * y[:, None]


X, Y = torch.rand(4, 6), torch.rand(4)


def constraints(path, method="forward"):
    return {p["name"]: p["constraints"] for p in reader.read(path).methods[method]["inputs"]}


def refuses(run, *cases):
    for x, y, message in cases:
        with pytest.raises(rushlight.RushlightError, match=message) as e:
            run(torch.ones(x), torch.ones(y))
        assert e.value.code == "bad-argument"


# ---- Which sizes are tried


@pytest.mark.parametrize("size, constraint, tried", [
    (4, "n", [5, 8, 1, 2]), (3, "n", [4, 6, 5, 1, 2]), (1, "n", [2, 3]), (0, "n", [1, 2]), (5, Dim("n", max=7), [6, 7, 1, 2]),
    (4, Dim("n", max=5), [5, 1, 2]), (5, Dim("n", max=5), [1, 2]), (5, Dim("n", min=2), [6, 10, 7, 2]), (4, Dim("n", min=3), [5, 8, 3]),
    (4, 4, []),
])
def test_open_sizes_are_verified_beyond_the_example(size, constraint, tried, out):
    report = rushlight.export(nn.ReLU(), torch.rand(2, size), out, dynamic_shapes=({1: constraint},))
    assert report.verified_sizes == [f"input [2, {n}]" for n in tried] and report.verified == 1 + len(tried)
    assert not tried or "  also at   " + "; ".join(f"input [2, {n}]" for n in tried) + "\n" in str(report)


class Baked(nn.Module):
    """Computes windows in Python, so that a trace is right only at the example's size and at one beyond it."""

    def forward(self, x):
        return x * 2 if x.shape[0] > 5 else x


class Reshaped(nn.Module):
    def forward(self, x):
        return x.reshape(int(x.shape[0]), -1)


def test_complex_numbers_are_tried_at_other_sizes(out):
    report = rushlight.export(lambda x: x.conj() * 2, torch.rand(2, 3, dtype=torch.complex64), out, dynamic_shapes=({1: "n"},))
    assert report.verified_sizes == ["x [2, 4]", "x [2, 6]", "x [2, 5]", "x [2, 1]", "x [2, 2]"] and report.verified == 6


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_size_of_complex_numbers_that_tracing_specialized_is_refused(out):
    with pytest.raises(rushlight.RushlightError, match="dynamic_shapes leaves open"):
        rushlight.export(Baked(), torch.rand(4, 3, dtype=torch.complex64), out, dynamic_shapes={"x": {0: "n"}})


@pytest.mark.parametrize("model, says", [
    (Baked(), "differs from PyTorch at sizes other than the example's, which dynamic_shapes leaves open .x .8, 3..: "),
    (Reshaped(), "does not run at sizes other than the example's, which dynamic_shapes leaves open .x .5, 3..: "),
])
def test_a_size_that_tracing_specialized_is_refused_with_the_size_and_the_tracers_warning(model, says, out):
    with pytest.warns(torch.jit.TracerWarning), pytest.raises(rushlight.RushlightError, match=says) as e:
        rushlight.export(model, torch.rand(4, 3), out, dynamic_shapes={"x": {0: "n"}})
    line = type(model).forward.__code__.co_firstlineno + 1
    assert "tracing fixed these sizes of the example:" in str(e.value) and f"test_constraints.py:{line}: " in str(e.value)
    assert e.value.code in ("mismatch", "model-raised", "bad-argument")


class Gathered(nn.Module):
    def forward(self, xs, d):
        return xs[0] * d["scale"][:, None] + xs[1].sum()


NESTED = ([X, torch.rand(3)], {"other": torch.rand(2), "scale": Y})


@pytest.mark.parametrize("front", [lambda m: m, torch.jit.script], ids=["traced", "scripted"])
def test_sizes_inside_of_lists_and_dicts_are_verified(front, out):
    class Typed(Gathered):
        def forward(self, xs: typing.List[torch.Tensor], d: typing.Dict[str, torch.Tensor]):
            return xs[0] * d["scale"][:, None] + xs[1].sum()

    shapes = {"xs": [{0: "n"}, {0: Dim("k", max=5)}], "d": {"scale": {0: "n"}}}
    report = rushlight.export(front(Typed()), NESTED, out, dynamic_shapes=shapes)
    assert report.verified_sizes[:3] == ["xs.0 [5, 6], xs.1 [4], d.1 [5]", "xs.0 [8, 6], xs.1 [5], d.1 [8]", "xs.0 [5, 6], xs.1 [5], d.1 [5]"]
    assert report.verified_sizes[3:] == ["xs.0 [1, 6], xs.1 [1], d.1 [1]", "xs.0 [2, 6], xs.1 [2], d.1 [2]", "xs.0 [1, 6], d.1 [1]", "xs.1 [1]"]
    assert constraints(out) == {"xs": [], "d": []}


@pytest.mark.parametrize("shapes, says", [
    ({"xs": [{0: "n"}]}, "of the input 'xs' must have 2 items, one for each of its list"),
    ({"xs": {0: "n"}}, "of the input 'xs' must have 2 items, one for each of its list"),
    ({"d": {"y": {0: "n"}}}, "of the input 'd' must be {key: sizes} for its keys 'other', 'scale', got"),
    ({"d": {"scale": {3: "n"}}}, "'d' has no dimension 3"),
    ({"d": {"scale": {"a": "n"}}}, "of the input \"d['scale']\" must be {dimension: name}, with a number"),
])
def test_sizes_of_another_nesting_are_refused(shapes, says, out):
    with pytest.raises(ValueError, match=re.escape(says)):
        rushlight.export(Gathered(), NESTED, out, dynamic_shapes=shapes)


def test_a_size_inside_of_a_list_that_tracing_specialized_is_refused(out):
    class Baked(nn.Module):
        def forward(self, xs):
            return xs[0] + xs[1].shape[0].item() if hasattr(xs[1].shape[0], "item") else xs[0] + float(len(xs[1].tolist()))

    with pytest.warns(torch.jit.TracerWarning), pytest.raises(rushlight.RushlightError, match=r"dynamic_shapes leaves open \(xs\.1 \[4\]\): "):
        rushlight.export(Baked(), ([X, torch.rand(3)],), out, dynamic_shapes=([None, {0: "n"}],))


# ---- Verification at other sizes


@pytest.mark.parametrize("model, says", [
    (lambda x: x * 0, "all zero"), (lambda x: (x * 0 + 1, x[:1] * 0 + 1), "constant"), (lambda x: x * float("nan"), "NaN everywhere"),
    (lambda x: (x * 0, x), None), (lambda x: x.sum(), None), (lambda x: x.argmax(), None), (lambda x: x[:0], "empty"),
    (lambda x: (x[:0], x), None),
])
def test_degenerate_outputs_make_a_verification_inconclusive(model, says, out):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = rushlight.export(model, torch.rand(2, 3) + 1, out)
    found = [w for w in report.warnings if "verification is inconclusive" in w]
    assert len(found) == (says is not None) == len([w for w in caught if "is inconclusive" in str(w.message)])
    assert says is None or f"PyTorch's outputs are {says}, as" in found[0]


def test_an_input_that_does_not_exist_is_refused_with_those_that_do(out):
    with pytest.raises(ValueError, match="there is no input 'z'; the model's inputs are x, y"):
        rushlight.export(Scaled(), (X, Y), out, dynamic_shapes={"z": {0: "n"}})


# ---- dynamic_shapes


n = Dim("n", min=3, max=8)


@pytest.mark.parametrize("shapes, x, y", [
    ({"x": {0: "n"}}, [(0, "n", 0, ANY)], []),
    ({"x": {0: "n"}, "y": {-1: "n"}}, [(0, "n", 0, ANY)], [(0, "n", 0, ANY)]),
    (({0: n, 1: 6}, (n,)), [(0, "n", 3, 8), (1, None, 6, 6)], [(0, "n", 3, 8)]),
    ({"x": {1: Dim.DYNAMIC, 0: Dim.STATIC}, "y": {0: Dim("m", max=4)}}, [(1, None, 0, ANY)], [(0, "m", 0, 4)]),
    ({"x": {0: "n", -2: n}}, [(0, "n", 3, 8)], []),
    (None, [], []),
])
def test_what_dynamic_shapes_say_is_in_the_file(shapes, x, y, out):
    report = rushlight.export(Scaled(), (X, Y), out, dynamic_shapes=shapes)
    assert constraints(out) == {"x": x, "y": y} and report.verified >= 1


@pytest.mark.parametrize("front", [lambda m: m, torch.jit.script], ids=["traced", "scripted"])
def test_a_constraint_is_kept_or_the_run_refused(front, out):
    report = rushlight.export(front(Scaled()), (X, Y), out, dynamic_shapes={"x": {0: n, 1: 6}, "y": {0: n}})
    assert report.verified == 4 and report.verified_sizes == ["x [5, 6], y [5]", "x [8, 6], y [8]", "x [3, 6], y [3]"]
    run = rushlight.load(out)
    for rows in (3, 8):
        x, y = torch.rand(rows, 6), torch.rand(rows)
        torch.testing.assert_close(run(x, y), Scaled()(x, y))
    refuses(run, ((9, 6), (9,), 'size 0 of input "x" must be at most 8, got 9'),
            ((2, 6), (2,), 'size 0 of input "x" must be at least 3, got 2'),
            ((4, 5), (4,), 'size 1 of input "x" must be 6, as at export, got 5'),
            ((4, 6), (5,), 'size 0 of input "y" is 5 and size 0 of input "x" is 4: they must be equal'),
            ((4,), (4,), 'input "x" must have 2 dimensions, as at export, got 1'))


def test_sizes_that_nobody_told_are_free(out):
    rushlight.export(Scaled(), (X, Y), out, dynamic_shapes={"x": {0: "n"}})
    assert rushlight.load(out)(torch.ones(2, 9), torch.ones(7)).shape == (2, 9)


def test_a_size_that_is_as_large_as_it_may_be_is_not_tried_larger(out):
    report = rushlight.export(Scaled(), (X, Y), out, dynamic_shapes={"x": {0: Dim("n", max=4)}, "y": {0: Dim("n", max=4)}})
    assert report.verified_sizes == ["x [1, 6], y [1]", "x [2, 6], y [2]"] and not report.warnings


def test_an_example_that_breaks_a_constraint_is_refused(out):
    with pytest.raises(rushlight.RushlightError, match='size 0 of input "y" is 4 and size 1 of input "x" is 6: they must be equal'):
        rushlight.export(Scaled(), (X, Y), out, dynamic_shapes={"x": {1: "k"}, "y": {0: "k"}})


@pytest.mark.parametrize("shapes, message", [
    ({"x": {0: 2 * Dim("k") + 1}}, r"must be a multiple of another one, got 2\*k \+ 1 of the input 'x'"),
    ({"x": {0: 4, -2: Dim("k", min=5)}}, "the range of size 0 of 'x' must not be empty, got 5 to 4"),
])
def test_constraints_that_cannot_be_made(shapes, message, out):
    with pytest.raises(ValueError, match=message):
        rushlight.export(Scaled(), (X, Y), out, dynamic_shapes=shapes)


# ---- ExportedProgram


def program():
    return torch.export.export(Rows(), (X, Y), dynamic_shapes={"x": {0: n}, "y": {0: n}})


@pytest.mark.feature("torch.export", "sizes outside the program's constraints", pytorch="refuses", rushlight="refuses")
def test_a_program_keeps_its_sizes(out):
    rushlight.export(program(), None, out)
    (rows, columns), (others,) = constraints(out).values()
    assert rows[0] == 0 and rows[1] and rows[2:] == (3, 8) and others == rows and columns == (1, None, 6, 6)
    run = rushlight.load(out)
    torch.testing.assert_close(run(torch.ones(8, 6), torch.ones(8)), torch.ones(8, 6))
    for x, y in (((9, 6), (9,)), ((2, 6), (2,)), ((4, 5), (4,)), ((4, 6), (5,)), ((4, 6, 1), (4,))):
        with pytest.raises((RuntimeError, AssertionError)):
            program().module()(torch.ones(x), torch.ones(y))
    refuses(run, ((9, 6), (9,), 'size 0 of input "x" must be at most 8, got 9'),
            ((2, 6), (2,), 'size 0 of input "x" must be at least 3, got 2'),
            ((4, 5), (4,), 'size 1 of input "x" must be 6, as at export, got 5'),
            ((4, 6), (5,), 'size 0 of input "y" is 5 and size 0 of input "x" is 4: they must be equal'))
    with pytest.raises(rushlight.RushlightError, match="the input x must have 2 dimensions, as at export, got 3"):
        run(torch.ones(4, 6, 1), torch.ones(4))


def test_a_program_checks_no_constraint_itself(out):
    report = rushlight.export(program(), None, out)
    assert "aten::size.int" not in report.ops and "aten::le.int" not in report.ops and "aten::ge.int" not in report.ops


def test_names_and_narrower_ranges_for_a_program(out):
    rushlight.export(program(), None, out, input_names=("a", "b"), dynamic_shapes={"b": {0: Dim("rows", max=5)}, "a": {1: "columns"}})
    assert constraints(out) == {"a": [(0, "rows", 3, 8), (1, "columns", 6, 6)], "b": [(0, "rows", 3, 5)]}
    refuses(rushlight.load(out), ((6, 6), (6,), 'size 0 of input "b" must be at most 5, got 6'))
    with pytest.raises(ValueError, match="the range of size 1 of 'x' must not be empty, got 7 to 6"):
        rushlight.export(program(), None, out, dynamic_shapes={"x": {1: 7}})


def test_sizes_inside_an_input_follow_those_that_have_constraints(out):
    class Net(nn.Module):
        def forward(self, parts, x):
            return parts[0] + x, parts[1] * 2

    parts = [torch.rand(4), torch.rand(3)]
    program = torch.export.export(Net(), (parts, torch.rand(4)), dynamic_shapes=([{0: n}, {0: Dim("m", min=2, max=5)}], {0: n}))
    rushlight.export(program, None, out)
    (inside, (size,)) = constraints(out).values()
    assert inside == [] and size[2:] == (3, 8)
    run = rushlight.load(out)
    assert run([torch.ones(8), torch.ones(5)], torch.ones(8))[0].tolist() == [2] * 8
    for given, x, message in (([8, 5], 7, r'size 0 of input "parts\[0\]" is 8 and size 0 of input "x" is 7: they must be equal'),
                              ([9, 5], 9, 'size 0 of input "x" must be at most 8, got 9'),
                              ([8, 6], 8, r'size 0 of input "parts\[1\]" must be at most 5, got 6')):
        with pytest.raises(rushlight.RushlightError, match=message):
            run([torch.ones(s) for s in given], torch.ones(x))
