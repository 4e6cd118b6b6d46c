"""Checks several methods of a file, one after the other."""

import os

import torch
from torch.utils import _pytree as pytree

from .base.errors import RushlightError
from .session import Session

_TOLERANCE = 1e-3  # of the greatest element, which leaves room for the rounding of deep models


def check_sequence(request):
    """Runs each method of a written file once, in the state that earlier ones leave, and compares the answers with the model's.

    Each method alone was verified from the first state, which may be zeros. A wrong file is removed.

    Raises:
        RushlightError: an answer differs ('mismatch'), or a run fails
    """
    settings, calls = request.settings, request.captured.calls
    if len(calls) < 2 or not settings["verify"] or settings["quantize"] or settings["allow_missing"]:
        return
    try:
        session = Session(settings["path"])
        for call in calls:
            _compare(call, session.call(call.method, *call.args))
    except RushlightError:
        os.unlink(settings["path"])
        raise


def _compare(call, got):
    wanted = [leaf for leaf in pytree.tree_leaves(call.answer) if isinstance(leaf, torch.Tensor)]
    leaves = [leaf for leaf in pytree.tree_leaves(got) if isinstance(leaf, torch.Tensor)]
    for want, leaf in zip(wanted, leaves, strict=True):
        distance = _distance(leaf, want)
        if not distance <= _TOLERANCE:
            raise RushlightError("mismatch", f"the method '{call.method}' differs from PyTorch when the methods run one after the other: "
                                 f"its answer differs by {distance:.2g} of the greatest element. State that a method replaces must be a "
                                 "buffer that it writes in place, or belong to a scripted submodule")


def _distance(got, want):
    """Returns the largest difference in units of the largest element."""
    if got.shape != want.shape:
        return float("inf")
    if not want.is_floating_point():
        return 0.0 if torch.equal(got, want) else float("inf")
    want, got = want.double().nan_to_num(), got.double().nan_to_num()
    return float((got - want).abs().max() / want.abs().max().clamp(min=1e-30)) if want.numel() else 0.0
