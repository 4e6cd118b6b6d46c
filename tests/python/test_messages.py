"""Warnings, refusals, and forms of arguments that a new user meets."""

import warnings
from pathlib import Path

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


def test_what_tracing_bakes_in_is_warned_of_once_at_its_line(out):
    with pytest.warns(torch.jit.TracerWarning, match="Python boolean") as caught:
        report = rushlight.export(Branch(), torch.tensor([1.0, 2.0]), out)
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
    (({}, {}, {}), "at most one item for each input, got 3; the inputs of the model are x, y"),
    (5, "dynamic_shapes must be"),
    ({"x": {"0": "b"}}, "dynamic_shapes of the input 'x' must be"),
    ({"x": "b"}, "dynamic_shapes of the input 'x' must be"),
])
def test_other_dynamic_shapes_are_refused(out, shapes, message):
    with pytest.raises(ValueError, match=message):
        rushlight.export(Pair(), (torch.rand(2, 4), torch.rand(3)), out, dynamic_shapes=shapes)


def test_weights_without_values_are_refused_by_name(out):
    with pytest.raises(rushlight.RushlightError, match="0.weight must have values, got a tensor on the meta device"):
        rushlight.export(nn.Sequential(nn.Linear(2, 3, device="meta")), torch.ones(1, 2), out)


def test_a_session_takes_inputs_by_name_and_says_what_it_has(out):
    x, y = torch.rand(2, 4), torch.rand(3)
    rushlight.export(torch.jit.script(Pair()), (x, y), out)
    session = rushlight.load(out)
    assert repr(session) == "<rushlight.Session: forward(x, y) -> (output)>"
    for got in session(x=x, y=y), session(x, y=y), session.call("forward", y=y, x=x), session.run({"y": y, "x": x})["output"]:
        assert_close(got, Pair()(x, y))
    for args, named, message in [((), {"z": x}, "no input 'z'; the inputs are x, y"), ((x,), {"x": x}, "'x' is given twice"),
                                 ((), {"y": y}, "'x' is missing"), ((x,), {}, "'y' is missing; the inputs are x, y"),
                                 ((x, y, x), {}, r"takes 2 inputs \(x, y\), got 3")]:
        with pytest.raises(TypeError, match=r"forward\(\):? .*" + message):
            session(*args, **named)
    for inputs, message in [({"x": x, "z": y}, "no input 'z'; the inputs are x, y"), ({"y": y}, "'x' is missing; the inputs are x, y")]:
        with pytest.raises(ValueError, match=message):
            session.run(inputs)


def test_what_is_no_file_is_said_by_name(out, tmp_path):
    for open_it in rushlight.load, lambda path: rushlight.export(path, path=out):
        with pytest.raises(rushlight.RushlightError, match="nope cannot be read: No such file"):
            open_it(str(tmp_path / "nope"))
        with pytest.raises(rushlight.RushlightError, match="is a folder, not a file"):
            open_it(str(tmp_path))


@pytest.mark.parametrize("zipped", [True, False])
def test_files_of_torch_save_are_refused_with_the_way_out(out, tmp_path, zipped):
    path, net = str(tmp_path / "whole.pt"), nn.Linear(2, 3)
    for what in net, net.state_dict():
        torch.save(what, path, _use_new_zipfile_serialization=zipped)
        with pytest.raises(rushlight.RushlightError, match="whole.pt was written by torch.save.*torch.jit.save"):
            rushlight.export(path, path=out)


class Unsigned(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("u", torch.ones(2, dtype=torch.uint16))

    def forward(self, x):
        return x, self.u


class ToUnsigned(nn.Module):
    def forward(self, x):
        return x.to(torch.uint16).float()


@pytest.mark.parametrize("model,x,message", [
    (Unsigned(), torch.ones(2), "'u' has dtype uint16, which is not supported; supported are uint8"),
    (nn.Identity(), torch.ones(2, dtype=torch.uint16), "input 'input' has dtype uint16, which is not supported"),
    (ToUnsigned(), torch.ones(2), "the exported model does not run: .*dtype 27"),
])
def test_dtypes_that_the_runtime_lacks_are_refused_by_name(out, model, x, message):
    with pytest.raises(rushlight.RushlightError, match=message) as e:
        rushlight.export(model, (x,), out)
    assert e.value.code == "unsupported"


def test_an_answer_that_differs_is_a_mismatch(out):
    with pytest.raises(rushlight.RushlightError, match="differs from PyTorch") as e:
        rushlight.export(torch.jit.script(nn.ReLU()), None, out, tests=[((torch.ones(2),), torch.zeros(2))])
    assert e.value.code == "mismatch"


def test_the_overload_of_forward_that_fits_is_taken(out, tmp_path):
    lstm, x = nn.LSTM(5, 7).eval(), torch.randn(2, 3, 5)
    scripted = torch.jit.script(lstm)
    state = (torch.rand(1, 3, 7), torch.rand(1, 3, 7))
    for args in (x,), (x, state):
        assert rushlight.export(scripted, args, out).verified == 1
        assert rushlight.load(out).methods() == ["forward"]
        assert_close(rushlight.load(out)(*args), lstm(*args))
    assert not scripted._c._has_method("forward")  # the user's own is left as it is
    torch.jit.save(scripted, str(tmp_path / "lstm.pt"))
    assert rushlight.export(str(tmp_path / "lstm.pt"), (x,), out).verified == 1
    rushlight.export(scripted, (x,), out, methods=("forward__0",))
    assert_close(rushlight.load(out).call("forward__0", x), lstm(x))
    with pytest.raises(ValueError, match="forward__1.*: name one of these, or wrap it"):
        rushlight.export(scripted, (5,), out)


def test_relative_differences_leave_out_what_is_small(out):
    x = torch.tensor([2000.0, 4.0, 2.0])
    wrong = x + torch.tensor([0.0, 1.0, 1.0])
    report = rushlight.export(torch.jit.script(nn.Identity()), None, out, tests=[((wrong,), x, 0.0, 1.0)])
    assert (report.max_abs, report.max_rel) == (1.0, 0.25)
    assert rushlight.load(out).verify()[0][:2] == (1.0, 0.25)


def test_the_size_of_weights_leaves_out_test_vectors(out):
    assert rushlight.export(torch.jit.script(nn.ReLU()), (torch.ones(100),), out).weights_bytes == 0
    assert rushlight.export(nn.Linear(16, 16, bias=False), (torch.ones(1, 16),), out).weights_bytes == 16 * 16 * 4


def test_source_lines_of_a_traced_bare_module_are_the_models(out):
    rushlight.export(nn.Sequential(nn.Linear(2, 3), nn.Tanh()), (torch.ones(1, 2),), out)
    text = rushlight.describe(out)
    assert "export.py" not in text and "torch/nn/modules/linear.py" in text


def test_source_lines_where_the_environment_is_in_the_working_folder(out, fresh):
    text = fresh(f"""
import os, rushlight
os.chdir({str(Path(torch.__file__).parents[2])!r})
rushlight.export(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()), (torch.ones(1, 2),), {str(out)!r})
print(rushlight.describe({str(out)!r}))""")
    assert "# torch/nn/modules/linear.py:" in text and "# torch/nn/modules/activation.py:" in text, text


def test_call_without_the_methods_name_says_so(out):
    rushlight.export(nn.Linear(2, 3), torch.ones(1, 2), out)
    session = rushlight.load(out)
    for wrong in (lambda: session.call(torch.ones(4, 2)), lambda: session.run({"input": torch.ones(4, 2)}, torch.ones(4, 2)),
                  lambda: session.run(torch.ones(4, 2))):
        with pytest.raises(TypeError, match="the name of a method|a dict by name") as e:
            wrong()
        assert "1." not in str(e.value) and len(str(e.value)) < 200


def test_a_wrong_dtype_or_shape_names_the_input(out):
    rushlight.export(Pair(), (torch.ones(2, 2), torch.ones(2, dtype=torch.int64)), out)
    session = rushlight.load(out)
    assert_close(session(torch.ones(2, 2, dtype=torch.float64), torch.ones(2)), torch.full((2, 2), 2.0, dtype=torch.float64))
    rushlight.export(nn.Linear(2, 3), torch.ones(1, 2), out)
    session = rushlight.load(out)
    with pytest.raises(rushlight.RushlightError, match=r'^input "input" is float64 \[1, 2\] but was exported as float32 \[1, 2\]: f'):
        session.run({"input": torch.ones(1, 2, dtype=torch.float64)})
    with pytest.raises(rushlight.RushlightError, match="^forward: input 'input' has dtype uint16, which is not supported"):
        session.run({"input": torch.ones(1, 2, dtype=torch.uint16)})
    for wrong, shape in ((torch.ones(1, 3), "1, 3"), (torch.ones(3), "3"), (torch.ones(2, 1, 5), "2, 1, 5")):
        what = rf'^input "input" is float32 \[{shape}\] but was exported as float32 \[1, 2\]: forward, instruction 0'
        with pytest.raises(rushlight.RushlightError, match=what):
            session.run({"input": wrong})
    n = Dim("n")
    rushlight.export(nn.Linear(2, 3), torch.ones(4, 2), out, dynamic_shapes={"input": {0: n}})
    with pytest.raises(rushlight.RushlightError, match=r'^input "input" is float32 \[7, 3\] but was exported as float32 \[7, 2\]'):
        rushlight.load(out)(torch.ones(7, 3))
    rushlight.export(nn.Embedding(3, 2), torch.tensor([1]), out)
    with pytest.raises(rushlight.RushlightError, match="^forward, instruction 0"):
        rushlight.load(out)(torch.tensor([3]))
