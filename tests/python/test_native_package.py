"""The installed CMake package: the programs of demo/03-native find it, are built with it, and agree with PyTorch."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

TOP = pathlib.Path(__file__).resolve().parents[2]
DEMO = TOP / "demo" / "03-native"
BUILD = pathlib.Path(os.environ.get("RUSH_NATIVE", TOP / "build" / "native"))
# find_package(Torch) fails if torch has CUDA and there is no CUDA toolkit.
WITH_TORCH = torch.version.cuda is None or shutil.which("nvcc") is not None


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Returns the folder of the programs, which has the models beside it."""
    folder = tmp_path_factory.mktemp("native")
    call("cmake", "--install", BUILD, "--prefix", folder / "prefix")
    call(sys.executable, DEMO / "export.py", folder)
    (folder / "prefix").rename(folder / "moved")  # no file of the package may contain its path
    call("cmake", "-G", "Ninja", "-S", DEMO, "-B", folder / "programs", f"-DCMAKE_PREFIX_PATH={folder / 'moved'}",
         f"-DWITH_TORCH={WITH_TORCH}", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-O0", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror")
    call("cmake", "--build", folder / "programs")
    return folder


@pytest.mark.parametrize("program,model,named", [("run_c", "model.rush", True), ("run_cpp", "model.rush", True),
                                                 ("run_torch", "lowered.pt", False)])
@pytest.mark.feature("Native", "find_package(Rushlight) from C, from C++, and beside libtorch")
def test_a_program_agrees_with_pytorch(programs, program, model, named):
    if program == "run_torch" and not WITH_TORCH:
        pytest.skip("there is no CUDA toolkit for find_package(Torch)")
    for case in json.loads((programs / "expected.json").read_text()):
        lines = call(programs / "programs" / program, programs / model, *case["input"]).splitlines()
        assert len(lines) == len(case["output"]) == 2
        for line, name, want in zip(lines, ("probabilities", "sure"), case["output"]):
            if named:
                assert line.startswith(name + ": ")
                line = line.split(": ")[1]
            assert [float(x) for x in line.split()] == pytest.approx(want, abs=2e-6)


def test_a_program_says_what_is_wrong(programs):
    bad = programs / "bad.rush"
    data = bytearray((programs / "model.rush").read_bytes())
    data[8] = 9
    bad.write_bytes(data)
    for program in ("run_c", "run_cpp"):
        done = subprocess.run([programs / "programs" / program, bad, "1"], capture_output=True, text=True)
        assert done.returncode == 1 and "version 9" in done.stderr


def test_what_is_installed(programs):
    moved = programs / "moved"
    files = {str(f.relative_to(moved)) for f in moved.rglob("*") if f.is_file()}
    assert {"include/rushlight/rushlight.h", "include/rushlight/format.h", "lib/librushlight.a",
            "lib/librushlight_torch.so", "lib/cmake/Rushlight/RushlightConfig.cmake",
            "share/licenses/rushlight/THIRD_PARTY_NOTICES"} <= files
