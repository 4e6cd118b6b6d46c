import os
import sys

import pytest
import torch

sys.path[:0] = [os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))]
torch._C._jit_set_texpr_fuser_enabled(False)
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture
def fresh(tmp_path):
    """Runs lines of Python in a fresh process; what they print last is returned."""
    import subprocess

    def run(lines):
        head = "import torch\ntorch._C._jit_set_texpr_fuser_enabled(False)\n"
        done = subprocess.run([sys.executable, "-c", head + lines], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
