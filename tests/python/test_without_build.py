"""The Python package without a build: it is imported, compiled on first use, and installed by pip."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import rushlight
import torch
from rushlight import _build

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "exporter" / "python"


def python(code, path, cwd, **env):
    """Runs code with the package from `path` alone, without the settings of ./dev that name a build."""
    settings = {k: v for k, v in os.environ.items() if k not in ("RUSH_NATIVE", "PYTHONPATH")}
    settings.update(PYTHONPATH=str(path), **env)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=settings)


def test_import_compiles_nothing(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    done = python("import os, rushlight\nprint(rushlight.lower.__name__, rushlight.export.__name__, os.listdir('cache'))\n"
                  "rushlight.load_library()", PACKAGE, tmp_path, RUSH_CACHE=str(cache), RUSH_XNNPACK_DIR="", RUSH_XNNPACK_SOURCE="")
    assert done.stdout == "lower export []\n"
    assert "XNNPACK is not found: use ./dev build, or give" in " ".join(done.stderr.split())
    assert list(cache.rglob("*.o")) == [] == list(cache.rglob("CMakeCache.txt"))


def test_an_installation_without_sources_says_how_to_get_lower(tmp_path):
    shutil.copytree(PACKAGE / "rushlight", tmp_path / "rushlight", ignore=shutil.ignore_patterns("*.so"))
    done = python("import rushlight; rushlight.load_library()", tmp_path, tmp_path)
    assert done.stderr.strip().endswith(
        "RuntimeError: rushlight.lower needs a library that is compiled for one PyTorch, and this installation has none: run pip install "
        "--no-build-isolation ./exporter/python in a checkout, with CMake and a C++ compiler")
    done = python("from rushlight import _build; _build.native_library()", tmp_path, tmp_path)
    assert done.stderr.strip().endswith("must have librushlight_native.so, which is missing: install the package again")


def for_another_torch(folder):
    """Replaces the compiled files by files for another torch, in the package, whose files are links."""
    built = pathlib.Path(rushlight.__path__[0])
    if not (built / _build.CLASS_LIBRARY).exists():
        built = pathlib.Path(os.environ["RUSH_NATIVE"]) / "python" / "rushlight"
    shutil.copytree(PACKAGE / "rushlight", folder, ignore=shutil.ignore_patterns("*.so"))
    mine, other = (f"for torch {v}, C++11".encode() for v in (torch.__version__, "9" + torch.__version__[1:]))
    for file in {*built.glob("*.so")} - {built / _build.NATIVE_LIBRARY}:  # that one depends on no torch
        data = file.read_bytes()
        assert data.count(mine) == 1
        (folder / file.name).write_bytes(data.replace(mine, other))
    return "9" + torch.__version__[1:]


def test_a_build_for_another_torch_is_not_taken(tmp_path):
    other = for_another_torch(tmp_path / "native" / "python" / "rushlight")
    native = {"RUSH_NATIVE": str(tmp_path / "native"), "RUSH_CACHE": str(tmp_path), "RUSH_XNNPACK_DIR": "", "RUSH_XNNPACK_SOURCE": ""}
    done = python("import rushlight; rushlight.load_library()", PACKAGE, tmp_path, **native)
    assert f"was compiled for torch {other}, C++11 ABI" in done.stderr and "is left alone" in done.stderr
    assert "XNNPACK is not found" in " ".join(done.stderr.split())  # and so one is compiled


@pytest.mark.skipif("RUSH_CACHE" not in os.environ, reason="the compiled XNNPACK is in the cache of ./dev")
@pytest.mark.feature("Native", "no build: compiled on first use")
def test_the_class_is_compiled_on_first_use(tmp_path):
    x = torch.rand(2, 4)
    module = torch.nn.Linear(4, 3).eval()
    rushlight.export(module, (x,), str(tmp_path / "m.rush"))
    torch.save((x, module(x)), str(tmp_path / "x.pt"))
    code = """
import torch, rushlight
path = rushlight.load_library()
x, want = torch.load("x.pt")
torch.testing.assert_close(torch.classes.rushlight.Interpreter("m.rush").forward([x])[0], want)
print(path)
"""
    done = python(code, PACKAGE, tmp_path)
    assert done.returncode == 0, done.stderr
    path = done.stdout.split()[-1]
    assert path.startswith(os.environ["RUSH_CACHE"])
    names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True).stdout
    assert " rush_" not in names and " xnn_" not in names
    again = python(code, PACKAGE, tmp_path)
    assert again.stdout.split()[-1] == path and "compiling" not in again.stderr


@pytest.mark.feature("Native", "pip install --no-build-isolation ./exporter/python")
def test_pip_installs_it(tmp_path):
    """With RUSH_NATIVE, which ./dev sets, pip uses the compiled files of that build. Otherwise it would compile for minutes."""
    if "RUSH_NATIVE" not in os.environ:
        pytest.skip("RUSH_NATIVE names no build")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                    "--target", str(tmp_path / "site"), str(PACKAGE)], check=True, cwd=tmp_path)
    done = python("""
import torch, rushlight
x, module = torch.rand(2, 4), torch.nn.Linear(4, 3).eval()
with torch.no_grad():
    torch.testing.assert_close(torch.jit.script(rushlight.lower(module, (x,)))(x), module(x))
print(rushlight.load_library(), rushlight.__version__)
""", tmp_path / "site", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "site" / "rushlight"))
    for command, code, says in ("--version", 0, f"rushlight {rushlight.__version__}\n"), ("swim", 2, "there is no command 'swim'"):
        done = python(f"import sys\nsys.argv = ['rushlight', {command!r}]\nfrom rushlight.tool import main\nmain()",
                      tmp_path / "site", tmp_path)
        assert done.returncode == code and says in done.stdout + done.stderr
    assert (tmp_path / "site" / "bin" / "rushlight").exists()


@pytest.mark.parametrize(("arguments", "says"), [(["bench", "--help"], "--kernels"), (["demo", "--help"], "--export"), (["zoo", "-h"], "--failed"),
                                                 (["build", "--help"], "usage: ./dev"), (["fuzz", "-h"], "usage: ./dev")])
def test_help_makes_nothing(tmp_path, arguments, says):
    done = subprocess.run([TOP / "dev", "--host", *arguments], capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "RUSH_CACHE": str(tmp_path)})
    assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
    assert "building" not in done.stderr and not list(tmp_path.glob("sources-*"))
