"""Operators of the user's own on the host: registered, in traces and scripts, exported, decomposed."""

import pathlib
import subprocess
import sys
from typing import List, Optional, Tuple

import pytest
import rushlight
import torch
from recorded_programs import keep
from rushlight import decomposition

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "exporter"))
import reader  # noqa: E402

library = torch.library.Library("tests_ops", "DEF")
for schema, function in {
    "scale(Tensor x, float by=2.0, int[] shift=[0, 0]) -> Tensor": lambda x, by=2.0, shift=(0, 0): x * by + sum(shift),
    "scale.int(Tensor x, int by) -> Tensor": lambda x, by: x * by,
    "ends(Tensor x, Tensor? mask=None) -> (Tensor, Tensor, int)":
        lambda x, mask=None: (x.min(), (x if mask is None else x * mask).max(), x.numel()),
    "clip_(Tensor(a!) x, float top) -> Tensor(a!)": lambda x, top: x.clamp_(max=top),
    "join(Tensor[] parts) -> Tensor": lambda parts: torch.cat(list(parts)),
    "twice(Tensor x) -> Tensor": lambda x: x * 2,
}.items():
    library.define(schema)
    library.impl(schema.split("(")[0], function, "CompositeExplicitAutograd")


@pytest.fixture
def register(monkeypatch):
    """Calls register_decomposition, and removes the decomposition after the test."""
    monkeypatch.setattr(decomposition, "_known", {})
    return rushlight.register_decomposition


@pytest.mark.feature("Operators", "a composite in Python, inlined at export (rushlight.register_decomposition)")
def test_a_decomposition_takes_the_place_of_the_operator(register, tmp_path):
    def model(x):
        return torch.ops.tests_ops.scale(torch.relu(x), 0.5, [1, 2]) @ x

    x = torch.randn(3, 3)
    with pytest.raises(rushlight.RushlightError, match="lacks 1 operator.*\n  tests_ops::scale, 1 time, at .*test_custom_operators"
                                                       ".py:.*\n.*rushlight.register_decomposition"):
        rushlight.export(model, (x,), tmp_path / "m.rush")

    @register("tests_ops::scale")
    def scale(x: torch.Tensor, by: float, shift: List[int]) -> torch.Tensor:
        out = x * by
        for n in shift:
            out = out + n
        return out

    keep("operators_decomposed_trace", model, (x,), (torch.randn(3, 3),))


def _register(schema, function):
    """Registers tests_again::join, in a library that removes it at its end."""
    again = torch.library.Library("tests_again", "FRAGMENT")
    again.define(schema)
    again.impl("join", function, "CompositeExplicitAutograd")
    return again


def test_an_operator_that_is_registered_again_has_its_new_schema(tmp_path):
    """As in a notebook, whose cells run again."""
    class Model(torch.nn.Module):
        def forward(self, *tensors):
            return torch.ops.tests_again.join(*tensors) + 1

    class OfList(torch.nn.Module):
        def forward(self, x, y):
            return torch.ops.tests_again.join([x, y]) + 1

    x = torch.ones(2)
    cases = (("join(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y, Model(), (x, x)),
             ("join(Tensor[] parts) -> Tensor", lambda parts: parts[0] + parts[1], OfList(), (x, x)),
             ("join(Tensor x) -> Tensor", lambda x: x + x, Model(), (x,)))
    for schema, function, model, example in cases:
        library = _register(schema, function)
        for how in (model, torch.export.export(model, example)):
            report = rushlight.export(how, example, tmp_path / "m.rush", allow_missing=True)
            assert list(report.missing) == ["tests_again::join"]
        library._destroy()


@pytest.mark.feature("Operators", "decompositions: overloads, lists, optional arguments, results, in-place writes")
def test_decompositions_in_control_flow(register):
    @register(torch.ops.tests_ops.scale.int)
    def scale_int(x: torch.Tensor, by: int) -> torch.Tensor:
        return torch.ops.tests_ops.scale(x, float(by))

    @register(torch.ops.tests_ops.scale)
    def scale(x: torch.Tensor, by: float, shift: List[int]) -> torch.Tensor:
        return x * by + (shift[0] + shift[1])

    @register("tests_ops::ends")
    def ends(x: torch.Tensor, mask: Optional[torch.Tensor]) -> Tuple[torch.Tensor, torch.Tensor, int]:
        return x.min(), (x if mask is None else x * mask).max(), x.numel()

    @register("tests_ops::clip_")
    def clip_(x: torch.Tensor, top: float) -> torch.Tensor:
        return x.clamp_(max=top)

    @register("tests_ops::join")
    def join(parts: List[torch.Tensor]) -> torch.Tensor:
        return torch.cat(parts)

    @torch.jit.script
    def model(x: torch.Tensor, n: int) -> Tuple[torch.Tensor, torch.Tensor, int]:
        y = x.clone()
        for i in range(n):
            if i % 2 == 0:
                y = torch.ops.tests_ops.scale(y, 3)
            else:
                y = torch.ops.tests_ops.scale(y, 0.5, [i, 1])
            torch.ops.tests_ops.clip_(y[:, 1], 2.0)
        mask: Optional[torch.Tensor] = None
        if n > 1:
            mask = torch.ones_like(y)
        low, high, count = torch.ops.tests_ops.ends(y, mask)
        return y, torch.ops.tests_ops.join([low.reshape(1), high.reshape(1)]), count

    x = torch.randn(2, 3)
    keep("operators_decomposed_script", model, *[(x, n) for n in range(4)])


@pytest.mark.feature("Operators", "a decomposition in an ExportedProgram")
def test_a_decomposition_in_an_exported_program(register):
    @register("tests_ops::scale")
    def scale(x: torch.Tensor, by: float, shift: List[int]) -> torch.Tensor:
        return x * by + sum(shift)

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.ops.tests_ops.scale(x.relu(), shift=[1, 1]) + 1

    x = torch.randn(2, 3)
    keep("operators_decomposed_program", torch.export.export(Net(), (x,)), (x,), eager=Net())


@pytest.mark.feature("Operators", "an invalid decomposition", rushlight="refuses")
def test_decompositions_that_do_not_fit_are_refused(register, tmp_path):
    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.tests_ops.twice(x)

    register("tests_ops::twice")(twice)
    for again in ("tests_ops::twice", torch.ops.tests_ops.twice, torch.ops.tests_ops.twice.default):
        with pytest.raises(ValueError, match="tests_ops::twice already has a decomposition"):
            register(again)
    with pytest.raises(ValueError, match="op must be the name of an operator, such as 'my_ops::f'"):
        register("twice")
    x = torch.randn(2, 3)
    with pytest.raises(ValueError, match="the decomposition of tests_ops::twice must not use the operator itself"):
        rushlight.export(lambda x: torch.ops.tests_ops.twice(x), (x,), tmp_path / "m.rush")

    @register("tests_ops::ends")
    def ends(x: torch.Tensor, mask: Optional[torch.Tensor]) -> Tuple[torch.Tensor, torch.Tensor]:
        return x.min(), x.max()

    @torch.jit.script
    def lowest(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.tests_ops.ends(x)[0]

    with pytest.raises(ValueError, match=r"of tests_ops::ends must return 3 results, got \(Tensor, Tensor\)"):
        rushlight.export(lowest, (x,), tmp_path / "m.rush")

    @register("tests_ops::clip_")
    def clip_(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(ValueError, match="of tests_ops::clip_ must take 2 arguments, got 1"):
        rushlight.export(lambda x: torch.ops.tests_ops.clip_(x.clone(), 1.0), (x,), tmp_path / "m.rush")

    def unannotated(x, top):
        return x.clamp_(max=top)

    def takes_an_int(x: torch.Tensor, top: int):
        return x.clamp_(max=top)

    def gives_a_pair(x: torch.Tensor, top: float):
        return x, x

    def gives_nothing(x: torch.Tensor, top: float):
        x.clamp_(max=top)

    for function, says in (
        (unannotated, r"argument 1 \(top\) of the decomposition of tests_ops::clip_ must be of type float, got Tensor: annotate"),
        (takes_an_int, r"argument 1 \(top\) of the decomposition of tests_ops::clip_ must be of type float, got int: annotate"),
        (gives_a_pair, r"the decomposition of tests_ops::clip_ must return Tensor, got \(Tensor, Tensor\)"),
        (gives_nothing, "the decomposition of tests_ops::clip_ must return Tensor, got None"),
    ):
        del decomposition._known["tests_ops::clip_"]
        register("tests_ops::clip_")(function)
        with pytest.raises(ValueError, match=says):
            rushlight.export(lambda x: torch.ops.tests_ops.clip_(x.clone(), 1.0), (x,), tmp_path / "m.rush")

    @register("tests_ops::join")
    def join(parts: List[torch.Tensor]) -> torch.Tensor:
        return torch.cat(parts) + 1

    with pytest.raises(RuntimeError, match="differs from PyTorch"):
        rushlight.export(lambda x: torch.ops.tests_ops.join([x, x]), (x,), tmp_path / "m.rush")
    assert not (tmp_path / "m.rush").exists()


@pytest.mark.feature("Operators", "a file with all arguments of an operator that the runtime lacks")
def test_all_arguments_of_an_unknown_operator_are_written(tmp_path):
    """libtorch prints the default of `int[] shift=[0, 0]` as 0, so a file's schema cannot stand for it."""
    path = tmp_path / "m.rush"
    rushlight.export(lambda x: torch.ops.tests_ops.scale(x), (torch.randn(2),), path, allow_missing=True)
    scale, = [i for i in reader.read(path).methods["forward"]["instrs"] if i.op == "tests_ops::scale"]
    assert scale.inputs[1:] == [("c", 2.0), ("c", [0, 0])]


@pytest.mark.feature("Operators", "a file whose operator is not loaded", pytorch="refuses", rushlight="refuses")
def test_a_file_with_an_operator_that_is_not_loaded_says_what_to_load(tmp_path, fresh):
    @torch.jit.script
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.tests_ops.twice(x)

    torch.jit.save(model, str(tmp_path / "m.pt"))
    says = ("m.pt uses the operator tests_ops::twice, which this torch does not have: load the library that registers it, "
            "by --load-library or, in Python, torch.ops.load_library")
    done = subprocess.run(["rushlight", "export", "m.pt", "-o", "m.rush"], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"rushlight: {says}\n")
    assert fresh("import rushlight\ntry: rushlight.export('m.pt', path='m.rush')\nexcept rushlight.RushlightError as e: print(e)") == says + "\n"
    assert not (tmp_path / "m.rush").exists()


@pytest.mark.feature("Operators", "registering an operator twice", pytorch="refuses", rushlight="refuses")
def test_registering_twice_is_refused(register):
    with pytest.raises(RuntimeError, match="multiple times|the same name and overload"):
        library.define("twice(Tensor x) -> Tensor")
    register("tests_ops::twice")(doubled)
    with pytest.raises(ValueError, match="tests_ops::twice already has a decomposition"):
        register("tests_ops::twice")


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2
