"""CMake without ./dev, by the command that cmake/README.md gives."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build" / f"plain-{torch.__version__}"  # beside build/native, so that ccache knows its files
COMMAND = """cmake -B build -DCMAKE_PREFIX_PATH="$(python -c 'import torch.utils; print(torch.utils.cmake_prefix_path)')" """
USE = """
import torch, rushlight
torch.manual_seed(0)
module, x = torch.nn.Linear(4, 3).eval(), torch.rand(2, 4)
rushlight.export(module, (x,), "m.rush")
torch.testing.assert_close(rushlight.load("m.rush")(x), module(x))
torch.classes.load_library("{library}")
torch.testing.assert_close(torch.classes.rushlight.Interpreter("m.rush").forward([x])[0], module(x))
assert rushlight.load_library() == "{library}"
"""


@pytest.mark.skipif("RUSH_CACHE" not in os.environ, reason="the compiled XNNPACK is in the cache of ./dev")
@pytest.mark.feature("Native", "cmake -DCMAKE_PREFIX_PATH=... builds exporter, Python module and class")
def test_the_command_of_the_readme(tmp_path):
    assert COMMAND.strip() in (TOP / "cmake" / "README.md").read_text()
    named = tmp_path / "python"  # not a link: Python finds its virtual environment by where it lies
    named.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    named.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k not in ("RUSH_NATIVE", "PYTHONPATH")}
    env.update(PATH=f"{tmp_path}:{env['PATH']}", CMAKE_GENERATOR="Ninja", PYTHONPATH=str(BUILD / "python"))
    if shutil.which("ccache"):
        env.update(CMAKE_C_COMPILER_LAUNCHER="ccache", CMAKE_CXX_COMPILER_LAUNCHER="ccache")

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    settings = f"-DRUSH_TESTS=OFF -DPython3_EXECUTABLE={sys.executable}"
    run("sh", "-c", f"{COMMAND.replace('-B build', f'-B {BUILD}')} {settings} {TOP}")
    run("cmake", "--build", str(BUILD))
    assert run(BUILD / "bin" / "rushlight", "--version").startswith("rushlight ")
    run(sys.executable, "-c", USE.format(library=BUILD / "lib" / "librushlight_torch.so"))


@pytest.mark.parametrize("variant, kernel", [("scalar", "f32-gemm/gen/f32-gemm-1x4-scalar.c"), ("relaxed", "f32-gemm/gen/f32-gemm-4x8-minmax-wasmrelaxedsimd-fma-loadsplat.c")])
def test_a_kernel_that_xnnpack_has_not_is_named(tmp_path, variant, kernel):
    (tmp_path / "rushlight-patched").touch()
    done = subprocess.run(["cmake", "-S", TOP / "cmake" / "xnnpack", "-B", tmp_path / "build", f"-DXNN_VARIANT={variant}", f"-DRUSH_XNNPACK_SOURCE={tmp_path}"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"XNNPACK has no src/{kernel}, which kernels.cmake wants for {variant}" in " ".join(done.stderr.split())
