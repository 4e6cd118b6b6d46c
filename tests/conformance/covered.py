#!/usr/bin/env python3
"""Fails for a row of ops.def that no conformance row, and no program that the Python tests left, runs: natively, by what really ran
(replay --ran), not by what stands in the files."""

import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/rows")]
import table  # noqa: E402


def ran_in(folder):
    """Names of operators."""
    with tempfile.NamedTemporaryFile("r") as file:
        replay = TOP / "build/native/bin/replay"
        ran = subprocess.run([replay, "--ran", file.name, TOP / "build" / folder], capture_output=True, text=True)
        if ran.returncode > 1:  # 1: rows fail, which is another stage's to say; they count for nothing here
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
