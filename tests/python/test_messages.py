"""What a new user meets: warnings, refusals, and the forms in which arguments may come."""

import warnings

import numpy as np
import pytest
import rushlight
import torch
from torch import nn
from torch.export import Dim
from torch.testing import assert_close


class Branch(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


class Pair(nn.Module):
    def forward(self, x, y):
        return x * y.sum()


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "m.rush")


def test_what_tracing_bakes_in_is_warned_of_once_at_its_line(out):
    with pytest.warns(torch.jit.TracerWarning, match="Python boolean") as caught:
        report = rushlight.export(Branch(), torch.ones(2), out)
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, Branch.forward.__code__.co_firstlineno + 1)]
    assert len(report.warnings) == 1


def test_a_model_without_branches_warns_of_nothing(out):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rushlight.export(nn.Linear(2, 3), torch.ones(1, 2), out)


def test_numpy_examples_are_refused_in_a_sentence(out):
    for example in (np.zeros((2, 3), np.float32),), ([np.float32(1)],):
        with pytest.raises(ValueError, match="from_numpy") as e:
            rushlight.export(nn.ReLU(), example, out)
        assert len(str(e.value)) < 120


@pytest.mark.parametrize("shapes", [
    ({0: Dim("b")},), ({0: Dim("b")}, None), [{0: Dim("b"), 1: None}], {"x": {0: "b"}}, {"x": (Dim("b"), None), "y": None},
    {"x": {0: Dim.DYNAMIC}, "y": {}},
])
def test_dynamic_shapes_come_in_the_forms_of_torch_export(out, shapes):
    x, y = torch.rand(2, 4), torch.rand(3)
    assert rushlight.export(Pair(), (x, y), out, dynamic_shapes=shapes).inputs == ["x: float32[?, 4]", "y: float32[3]"]
    program = torch.export.export(Pair(), (x, y))
    assert rushlight.export(torch.jit.script(Pair()), (x, y), out, dynamic_shapes=shapes).inputs[0] == "x: float32[?, 4]"
    assert rushlight.export(program, None, out).inputs[0] == "x: float32[2, 4]"


def test_dynamic_shapes_by_place_follow_the_names_that_were_given(out):
    report = rushlight.export(Pair(), (torch.rand(2, 4), torch.rand(3)), out, input_names=("left",),
                              dynamic_shapes=({0: "b"}, (Dim("c"),)))
    assert report.inputs == ["left: float32[?, 4]", "y: float32[?]"]


@pytest.mark.parametrize("shapes,message", [
    (({}, {}, {}), "3 inputs are given; the model's are x, y"),
    (5, "dynamic_shapes are"),
    ({"x": {"0": "b"}}, "those of the input 'x'"),
    ({"x": "b"}, "those of the input 'x'"),
])
def test_other_dynamic_shapes_are_refused(out, shapes, message):
    with pytest.raises(ValueError, match=message):
        rushlight.export(Pair(), (torch.rand(2, 4), torch.rand(3)), out, dynamic_shapes=shapes)


def test_weights_without_values_are_refused_by_name(out):
    with pytest.raises(rushlight.RushlightError, match="0.weight is on the meta device"):
        rushlight.export(nn.Sequential(nn.Linear(2, 3, device="meta")), torch.ones(1, 2), out)


def test_a_session_takes_inputs_by_name_and_says_what_it_has(out):
    x, y = torch.rand(2, 4), torch.rand(3)
    rushlight.export(torch.jit.script(Pair()), (x, y), out)
    session = rushlight.load(out)
    assert repr(session) == "<rushlight.Session: forward(x, y) -> (output)>"
    for got in session(x=x, y=y), session(x, y=y), session.call("forward", y=y, x=x), session.run({"y": y, "x": x})["output"]:
        assert_close(got, Pair()(x, y))
    for args, named, message in [((), {"z": x}, "no input 'z'; the inputs are x, y"), ((x,), {"x": x}, "'x' is given twice"),
                                 ((), {"y": y}, "'x' is missing")]:
        with pytest.raises(ValueError, match=message):
            session(*args, **named)
