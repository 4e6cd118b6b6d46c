"""CMake without ./dev, by the command that cmake/README.md gives."""

import os
import pathlib
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
COMMAND = """cmake -B build -DCMAKE_PREFIX_PATH="$(python -c 'import torch.utils; print(torch.utils.cmake_prefix_path)')" """


@pytest.mark.skipif("RUSH_CACHE" not in os.environ, reason="the compiled XNNPACK is in the cache of ./dev")
@pytest.mark.feature("Native", "cmake -DCMAKE_PREFIX_PATH=... finds torch and plans exporter, Python module and class")
def test_the_command_of_the_readme_configures_a_build(tmp_path):
    """That the planned build passes is what every other test here shows: `./dev build` runs the same rules."""
    assert COMMAND.strip() in (TOP / "cmake" / "README.md").read_text()
    (tmp_path / "python").symlink_to(sys.executable)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CMAKE_GENERATOR": "Ninja"}
    settings = f"-DPython3_EXECUTABLE={sys.executable}"
    done = subprocess.run(["sh", "-c", f"{COMMAND} {settings} {TOP}"], capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    plan = subprocess.run(["ninja", "-C", "build", "-t", "targets", "all"], capture_output=True, text=True, cwd=tmp_path).stdout
    for target in ("bin/rushlight:", "lib/librushlight_torch.so:", "python/rushlight/_C.", "lib/librushlight.a:"):
        assert target in plan
