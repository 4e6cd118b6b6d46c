import os
import subprocess
import sys

import pytest
import torch

TESTS = os.path.dirname(os.path.dirname(__file__))


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture
def fresh(tmp_path):
    """Runs lines of Python in a fresh process. Gives what they print."""
    def run(lines):
        head = f"import sys\nsys.path.append({TESTS!r})\nimport reference, torch\n"
        done = subprocess.run([sys.executable, "-c", head + lines], capture_output=True, text=True, cwd=tmp_path,
                              timeout=1800)  # a test that never ends fails
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
