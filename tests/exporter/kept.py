"""Files that the tests of FX and torch.export leave under build/fx, for the replays in Node and Chromium.

Each holds the answers of eager PyTorch as test vectors; manifest.json is as that of build/conformance.
"""

import copy
import fcntl
import json
import os
from pathlib import Path

import rushlight
import torch

FOLDER = Path(os.environ.get("RUSH_FX", Path(__file__).resolve().parents[2] / "build" / "fx"))


def keep(name, model, *cases, eager=None, rtol=1e-5, atol=1e-6, example=True, **options):
    """Exports `model` as build/fx/NAME.rush, with what `eager` (or the model) answers to each case of
    arguments; the export compares them natively. Gives the report."""
    eager = eager or model
    tests = []
    for args in cases:
        with torch.no_grad():
            fresh = copy.deepcopy(eager) if isinstance(eager, torch.nn.Module) else eager
            tests.append((args, fresh(*copy.deepcopy(args)), rtol, atol))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        report = rushlight.export(model, cases[0] if example else None, FOLDER / f"{name}.rush", tests=tests,
                                  rtol=rtol, atol=atol, **options)
        manifest = FOLDER / "manifest.json"
        rows = {r["name"]: r for r in json.loads(manifest.read_text())["rows"]} if manifest.exists() else {}
        rows[name] = {"name": name, "file": f"{name}.rush", "tests": report.test_vectors}
        rows = {n: r for n, r in rows.items() if (FOLDER / r["file"]).exists()}
        part = FOLDER / "manifest.part"
        part.write_text(json.dumps({"rows": [rows[n] for n in sorted(rows)]}, indent=0))
        part.replace(manifest)
    assert report.verified >= len(cases), report.not_verified
    return report


def session(name):
    return rushlight.load(FOLDER / f"{name}.rush")
