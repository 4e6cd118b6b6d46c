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

    Returns:
        {method: cosine of its answer and PyTorch's} of a quantized file, or {}

    Raises:
        RushlightError: an answer differs ('mismatch'), or a run fails
    """
    settings, calls = request.settings, request.captured.calls
    cosines: dict[str, float] = {}
    if len(calls) < 2 or not settings["verify"] or settings["allow_missing"]:
        return cosines
    try:
        session = Session(settings["path"])
        for call in calls:
            pairs = _pairs(call, session.call(call.method, *call.args))
            if settings["quantize"]:
                cosines[call.method] = _cosine(pairs)
            else:
                _compare(call, pairs)
    except RushlightError:
        os.unlink(settings["path"])
        raise
    return cosines


def _pairs(call, got):
    """Returns the tensors of an answer, each with PyTorch's."""
    wanted, leaves = ([leaf for leaf in pytree.tree_leaves(answer) if isinstance(leaf, torch.Tensor)] for answer in (call.answer, got))
    return list(zip(wanted, leaves, strict=True))


def _cosine(pairs):
    same = [(want, got) for want, got in pairs if want.is_floating_point() and want.shape == got.shape]
    a, b = (torch.cat([pair[i].double().nan_to_num().flatten() for pair in same] or [torch.zeros(0)]) for i in (0, 1))
    norms = float(a.norm() * b.norm())
    return float(a @ b) / norms if norms else float(torch.equal(a, b))


def _compare(call, pairs):
    for want, leaf in pairs:
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
