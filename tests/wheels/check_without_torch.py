"""Runs a stored file with the installed package, where torch is not installed.

./dev wheels copies this file and version-1.rush into the home of a bare root, and runs it there.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy as np

import rushlight

assert importlib.util.find_spec("torch") is None
libraries = [path.name for path in pathlib.Path(rushlight.__file__).parent.rglob("*.so")]
assert libraries == ["librushlight_native.so"], libraries


def tool(*arguments):
    done = subprocess.run([sys.executable, "-m", "rushlight", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


description = json.loads(tool("inspect", "--json", "version-1.rush"))
forward, = (method for method in description["methods"] if method["name"] == "forward")
assert [port["name"] for port in forward["inputs"]] == ["x", "ids", "rounds", "scale"]
# The tool compares the answers of the file's test vectors with PyTorch's.
results = tool("verify", "version-1.rush").splitlines()
assert len(results) == 3 and all(": ok, " in line for line in results), results

answer, named, sizes = rushlight.load("version-1.rush")(np.ones((2, 3, 8, 8), np.float32), np.zeros((2, 3), np.int64))
values = [value for value in named.values()] + [answer[0]]
assert all(isinstance(value, np.ndarray) and np.isfinite(value).all() for value in values), values
assert "torch" not in sys.modules

try:
    rushlight.export(None, (np.zeros(1, np.float32),), "m.rush")
except ImportError as e:
    assert "needs PyTorch" in str(e), e
    print("export:", e)
else:
    raise AssertionError("export() must need torch")
print("all checks passed")
