"""Files in a Python that has NumPy and no PyTorch, and NumPy's arrays beside PyTorch's tensors."""

import array
import ctypes
import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
import rushlight
import torch
from torch import Tensor, nn

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "exporter" / "python"
TESTED = sorted((path.name.split("-")[1] for path in (PACKAGE.parents[1] / "tests" / "wheels").glob("torch-*.txt")),
                key=lambda version: [int(part) for part in version.split(".")])


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2, 3))

    def forward(self, x: Tensor, scale: float = 2.0):
        self.sum.add_(x)
        return {"sum": self.sum * 1, "rows": [x[0] * scale, x[1] * scale]}, x.to(torch.int64), "text", x.shape[0]


class Views(nn.Module):
    def forward(self, x):
        y = x * 2
        return y, y.t(), torch.view_as_complex(y.reshape(-1, 2))


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.rush"
    rushlight.export(torch.jit.script(Counts()), (torch.ones(2, 3),), path)
    return path


def bare_python(arguments, tmp_path):
    """Runs Python with NumPy and this package alone."""
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    for folder in pathlib.Path(numpy.__file__).parents[1].glob("numpy*"):
        link = site / folder.name
        if not link.exists():
            link.symlink_to(folder)
    start = f"import sys; sys.path[:0] = [{str(PACKAGE)!r}, {str(site)!r}]; import runpy; "
    run = [sys.executable, "-S", "-c", start + arguments[0], *arguments[1:]]
    return subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})


@pytest.mark.feature("Native", "without PyTorch: NumPy in, NumPy out")
def test_a_session_takes_and_gives_arrays(counts, tmp_path):
    done = bare_python(["""
import numpy as np, rushlight
session = rushlight.load("counts.rush")
x = np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2]
session(x)
out, whole, text, rows = session(x, scale=3.0)
assert type(out["sum"]) is np.ndarray and out["sum"].dtype == np.float32
assert (out["sum"] == 2 * x).all() and (out["rows"][1] == 3 * x[1]).all() and (whole == x).all() and whole.dtype == np.int64
assert (text, rows) == ("text", 2)
assert (session.state()["sum"] == 2 * x).all()
session.set_state({"sum": np.ones((2, 3), np.float32)})
assert (session.clone()(x)[0]["sum"] == x + 1).all()
assert [r.compared > 0 for r in session.verify()] == [True]
assert "aten::add_" in rushlight.describe("counts.rush")
print(session)
"""], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "<rushlight.Session: forward(x, scale) -> (output_0, output_1, output_2, output_3)>\n"


def test_what_needs_pytorch_says_so(tmp_path):
    done = bare_python(["import rushlight; rushlight.export"], tmp_path)
    assert "ImportError: rushlight.export needs PyTorch, which is not installed here: pip install torch" in done.stderr


@pytest.mark.parametrize(("version", "says"), [
    ("2.5.1+cpu", "rushlight.export needs PyTorch 2.6 or later, and this is 2.5.1+cpu: pip install --upgrade torch"),
    ("9.0.0", f"rushlight.export does not work with PyTorch 9.0.0 (MISSING): it is tested with PyTorch {TESTED[0]} to {TESTED[-1]}")])
def test_a_pytorch_that_does_not_work_is_refused_in_one_sentence(version, says, tmp_path):
    """The module torch of this test has a version and nothing else."""
    (tmp_path / "torch.py").write_text(f"__version__ = {version!r}\n")
    done = bare_python([f"sys.path.insert(0, {str(tmp_path)!r}); import rushlight; rushlight.load; rushlight.export"], tmp_path)
    kind, _, message = done.stderr.splitlines()[-1].partition(": ")
    before, _, after = says.partition("MISSING")
    assert kind == "ImportError" and message.startswith(before) and message.endswith(after), done.stderr


@pytest.mark.feature("Native", "the tool without PyTorch")
def test_the_tool(counts, tmp_path):
    def tool(*arguments):
        return bare_python(["runpy.run_module('rushlight', run_name='__main__')", *arguments], tmp_path)

    assert tool("verify", "counts.rush").stdout.startswith("test vector 0: ok, ")
    assert "aten::add_" in tool("inspect", "counts.rush").stdout
    shown = tool("run", "counts.rush", "--input", "2x3", "--input", "scale=3", "--output", "out").stdout
    assert shown.startswith("output_0: {'sum': array(") and "output_2: 'text'\noutput_3: 2\n" in shown
    x = numpy.random.default_rng(0).uniform(-1, 1, (2, 3)).astype("float32")
    assert (numpy.load(tmp_path / "out" / "output_1.npy") == x.astype("int64")).all()
    numpy.save(tmp_path / "x.npy", x)
    results = json.loads(tool("run", "counts.rush", "--input", "x=@x.npy", "--json").stdout)
    assert results["output_1"] == {"dtype": "int64", "shape": [2, 3], "data": [0] * 6} and results["output_3"] == 2
    timed = json.loads(tool("bench", "counts.rush", "--input", "2x3", "--runs", "3", "--json").stdout)
    assert timed["runs"] == 3 and timed["median_ms"] >= timed["min_ms"] > 0
    for arguments, says in ((["--input", "y=2"], "there is no input 'y'; the inputs are x, scale"), ([], "the input 'x' is missing"),
                            (["--input", "2xa"], "an input must be SIZES[:DTYPE[:LO..HI]] such as 1x3x224x224")):
        refused = tool("run", "counts.rush", *arguments)
        assert refused.returncode == 1 and refused.stderr.startswith(f"rushlight: {says}")
    refused = tool("export", "m.pt", "-o", "m.rush")
    assert (refused.returncode, refused.stderr) == (1, "rushlight: this command needs PyTorch, which is not installed here: pip install torch\n")


def test_the_kind_of_the_inputs_decides_that_of_the_results(tmp_path):
    path = tmp_path / "views.rush"
    rushlight.export(Views().eval(), (torch.rand(2, 4),), path)
    session = rushlight.load(path)
    x = torch.rand(2, 4)
    for result, kind in (session(x), Tensor), (session(x.numpy()), numpy.ndarray):
        assert all(type(y) is kind for y in result)
        y, turned, pairs = map(torch.as_tensor, result)
        assert torch.equal(y, x * 2) and torch.equal(turned, y.t()) and turned.stride() == (1, 4)
        assert pairs.dtype == torch.complex64 and torch.equal(torch.view_as_real(pairs).flatten(), y.flatten())
        y[1, 0] = 7
        assert turned[0, 1] == 7 and pairs[2].real == 7  # they share memory, as in PyTorch


@pytest.mark.parametrize("dtype", "float16 float32 float64 uint8 int8 int16 int32 int64 bool complex64 complex128".split())
def test_dtypes_of_arrays(dtype, tmp_path):
    path = tmp_path / "copy.rush"
    x = torch.ones(3).to(getattr(torch, dtype))
    rushlight.export(torch.jit.trace(lambda x: x.clone(), x), (x,), path)
    given = numpy.array([0, 1, 1], dtype)
    given.flags.writeable = False
    out = rushlight.load(path)(given)
    assert out.dtype == given.dtype and (out == given).all()


class Shared:
    """An array of another library."""

    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


def test_memory_of_other_libraries(tmp_path):
    path = tmp_path / "copy.rush"
    rushlight.export(torch.jit.trace(lambda x: x.clone(), torch.ones(3)), (torch.ones(3),), path)
    session = rushlight.load(path)
    held = numpy.arange(6, dtype="f4").reshape(2, 3)
    for value in Shared(held), Shared(held.T), memoryview(held), array.array("f", range(6)), bytearray(b"rush"), (ctypes.c_float * 6)(*range(6)):
        out = session(value)
        assert type(out) is numpy.ndarray
        want = numpy.from_dlpack(value) if isinstance(value, Shared) else numpy.asarray(value)
        assert out.dtype == want.dtype and (out == want).all()

    class Elsewhere(Shared):
        def __dlpack__(self, **options):
            raise BufferError("the array is on a GPU")

    with pytest.raises(TypeError, match="a value of type Elsewhere cannot be passed to a model: the array is on a GPU"):
        session(Elsewhere(held))


def test_arrays_that_no_model_takes(tmp_path):
    path = tmp_path / "copy.rush"
    rushlight.export(torch.jit.trace(lambda x: x.clone(), torch.ones(3)), (torch.ones(3),), path)
    session = rushlight.load(path)
    for given, says in (numpy.array(["a"]), "an array of dtype <U1 cannot be passed"), (numpy.ones(3, ">f4"), "an array of dtype >f4"):
        with pytest.raises(TypeError, match=says):
            session(given)
    assert session(numpy.arange(6, dtype="f4")[::-2]).tolist() == [5, 3, 1]


@pytest.mark.parametrize("first", ["export", "lower", "Session"])
def test_pytorch_is_imported_when_it_is_needed(first, tmp_path):
    """A module and its function have one name: whichever is asked for first, all names are the functions."""
    code = f"""
import sys, rushlight
assert "torch" not in sys.modules
rushlight.{first}
assert [getattr(rushlight, name).__name__ for name in rushlight.__all__] == rushlight.__all__
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
