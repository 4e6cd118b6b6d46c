"""Keeps files of Python tests in build/programs, for the replays in Node and Chromium.

    from recorded_programs import keep, session

    keep("fx_primer", net, (x,), (y,))               # exported, and compared natively, with two test vectors
    keep("asserts", net, (x,), raises="too small")   # PyTorch refuses this input, and so must every runtime
    session("fx_primer")(x)                          # the file, loaded natively

The answers are those of eager PyTorch. manifest.json has the format of build/conformance, and conformance-node and
conformance-page replay both.
"""

import copy
import fcntl
import json
import os
import sys
from pathlib import Path

import features
import rushlight
import torch

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("RUSH_PROGRAMS", HERE.parent / "build" / "programs"))
sys.path.insert(0, str(HERE / "conformance"))
from generate import some_value  # noqa: E402


def keep(name, model, *cases, eager=None, rtol=1e-5, atol=1e-6, example=True, raises=None, **options):
    """Exports `model` as build/programs/NAME.rush, with the answers of `eager` (or the model) to each case of
    arguments. The export compares them natively. Returns the report.

    raises: PyTorch must refuse every case, and the runtime's message must contain this text in the replays."""
    eager = eager or model
    tests = [(args, _answer(eager, args, raises), rtol, atol) for args in cases]
    if raises is not None:
        options["verify"] = False
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        report = rushlight.export(model, cases[0] if example and raises is None else None, FOLDER / f"{name}.rush",
                                  tests=tests, rtol=rtol, atol=atol, **options)
        _enter(name, report.test_vectors, raises)
    if raises is not None:
        for args in cases:
            _refuses(name, args, raises)
    else:
        assert report.verified >= len(cases), report.not_verified
    return report


def session(name):
    return rushlight.load(FOLDER / f"{name}.rush")


def _answer(eager, args, raises):
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # the seed of each replay
        fresh = copy.deepcopy(eager) if isinstance(eager, torch.nn.Module) else eager
        given = copy.deepcopy(args)
        if raises is None:
            return fresh(*given)
        try:
            fresh(*given)
        except Exception as error:
            features.seen.refusal(error)
            schema = eager.schema if isinstance(eager, torch.jit.ScriptFunction) else eager.forward.schema
            return some_value(schema.returns[0].type)  # a test vector has an answer
    raise AssertionError("PyTorch does not raise")


def _refuses(name, args, raises):
    try:
        session(name)(*copy.deepcopy(args))
    except rushlight.RushlightError as error:
        features.seen.refusal(error)
        assert raises in str(error), error
        return
    raise AssertionError(f"{name} was to be refused, and ran")


def _enter(name, tests, raises):
    manifest = FOLDER / "manifest.json"
    rows = {r["name"]: r for r in json.loads(manifest.read_text())["rows"]} if manifest.exists() else {}
    rows[name] = {"name": name, "file": f"{name}.rush", "tests": tests}
    if raises is not None:
        rows[name]["raises"] = raises
    rows = {n: r for n, r in rows.items() if (FOLDER / r["file"]).exists()}
    part = FOLDER / "manifest.part"
    part.write_text(json.dumps({"rows": [rows[n] for n in sorted(rows)]}, indent=0))
    part.replace(manifest)
