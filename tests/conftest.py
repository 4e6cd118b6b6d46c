"""Looks on while tests that show a feature run, for the table of FEATURES.md (features.py)."""

import dataclasses
import math

import features
import pytest
import rushlight
import torch

_seen = features.Seen()
_raises = []  # the contexts of pytest.raises


def _declared(item):
    return [features.Feature(*mark.args, **mark.kwargs) for mark in item.iter_markers("feature")]


def _differences(got, want):
    """The largest difference of each pair of floating-point tensors."""
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
    """Calls after(result, arguments) behind each call of owner.name."""
    real = getattr(owner, name)

    def watched(*args, **kwargs):
        result = real(*args, **kwargs)
        after(result, args)
        return result

    setattr(owner, name, watched)


def _after_export(report, _):
    if report.verified:
        _seen.difference(report.max_abs)


def _after_assert_close(_, args):
    for d in _differences(*args[:2]):
        _seen.difference(d)


_watch(rushlight, "export", _after_export)
_watch(torch.testing, "assert_close", _after_assert_close)
_watch(pytest, "raises", lambda context, _: _raises.append(context))


@pytest.fixture(autouse=True)
def _fresh_sight():
    _seen.__init__()
    _raises.clear()


def pytest_collection_modifyitems(items):
    for item in items:
        _declared(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    declared = _declared(item)
    if declared and (call.when == "call" or report.outcome != "passed"):
        for context in _raises:
            if getattr(context, "excinfo", None) is not None and context.excinfo.value is not None:
                _seen.refusal(context.excinfo.value)
        features.enter({item.nodeid: {"features": [dataclasses.asdict(f) for f in declared],
                                      "outcome": report.outcome, **dataclasses.asdict(_seen)}})
    return report
