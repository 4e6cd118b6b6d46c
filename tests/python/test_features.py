"""FEATURES.md has the rows that the tests declare."""

import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


def test_the_table_has_the_features_of_the_tests():
    done = subprocess.run([sys.executable, "tests/features.py", "--check"], cwd=TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
