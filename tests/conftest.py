"""Observes tests that show a feature, for the table of FEATURES.md (features.py)."""

import dataclasses
import json
import math
import os
import sys

import reference  # noqa: F401, I001 - before torch
import features
import recorded_programs
import pytest
import rushlight
import torch

_raises = []  # the contexts of pytest.raises


def _declared(item):
    return [features.Feature(*mark.args, **mark.kwargs) for mark in item.iter_markers("feature")]


def _differences(got, want):
    """Returns the largest difference of each pair of floating-point tensors."""
    if isinstance(got, (tuple, list)) and isinstance(want, (tuple, list)):
        return [d for pair in zip(got, want) for d in _differences(*pair)]
    if isinstance(got, dict) and isinstance(want, dict):
        return [d for k in got if k in want for d in _differences(got[k], want[k])]
    if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor) and got.shape == want.shape and got.numel():
        apart = (got.double() - want.double()).abs()
        return [float(apart[apart.isfinite()].max())] if apart.isfinite().any() else []
    if isinstance(got, float) and isinstance(want, float) and math.isfinite(got - want):
        return [abs(got - want)]
    return []


def _watch(owner, name, after):
    """Calls after(result, arguments) after each call of owner.name."""
    real = getattr(owner, name)

    def watched(*args, **kwargs):
        result = real(*args, **kwargs)
        after(result, args)
        return result

    setattr(owner, name, watched)


def _after_export(report, _):
    features.seen.kept |= os.path.dirname(report.path) == str(recorded_programs.FOLDER)
    if report.verified:
        features.seen.difference(report.max_abs)


def _after_assert_close(_, args):
    for d in _differences(*args[:2]):
        features.seen.difference(d)


_watch(rushlight, "export", _after_export)
_watch(torch.testing, "assert_close", _after_assert_close)
_watch(pytest, "raises", lambda context, _: _raises.append(context))


@pytest.fixture
def out(tmp_path):
    """The path of a file to export to."""
    return str(tmp_path / "model.rush")


@pytest.fixture(autouse=True)
def _fresh_sight():
    features.seen.__init__()
    _raises.clear()


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    """Clears torch.export's cache. It keeps compiled versions of a function and refuses the ninth, and all nn.Sequential share one."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.reset()


def pytest_addoption(parser):
    parser.addoption("--features", metavar="FILE", help="write which features the tests declare, as JSON")


def pytest_collection_modifyitems(config, items):
    found = [(item.nodeid, [dataclasses.asdict(f) for f in _declared(item)]) for item in items]
    if config.getoption("features"):
        with open(config.getoption("features"), "w") as out:
            json.dump([row for row in found if row[1]], out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if _declared(item) and (call.when == "call" or report.outcome != "passed"):
        for context in _raises if report.outcome == "passed" else ():
            features.seen.refusal(getattr(context, "excinfo", context).value)
        features.enter(item.nodeid, report.outcome)
    return report
