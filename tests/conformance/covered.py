#!/usr/bin/env python3
"""Fails if neither a conformance row nor a program of the Python tests runs a row of ops.def. It counts the operators that
ran natively (replay --ran), because a file may hold operators that never run."""

import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/rows")]
import table  # noqa: E402


def ran_in(folder):
    """Reads the names of operators that ran."""
    with tempfile.NamedTemporaryFile("r") as file:
        replay = TOP / "build/native/bin/replay"
        ran = subprocess.run([replay, "--ran", file.name, TOP / "build" / folder], capture_output=True, text=True)
        if ran.returncode > 1:  # Status 1 means that rows fail. Another stage reports them, and they do not count here.
            sys.exit(f"{folder}: {ran.stdout[-3000:]}{ran.stderr[-1000:]}")
        return set(file.read().split())


def main():
    ran = ran_in("conformance") | ran_in("programs")
    rows = table.rows()
    missing = [r for r in rows if r.name not in ran and r.in_place not in ran]
    for r in missing:
        print(f"{r.family}.def: no conformance row runs {r.schema}")
    print(f"{len(rows) - len(missing)} of {len(rows)} rows of ops.def ran")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
