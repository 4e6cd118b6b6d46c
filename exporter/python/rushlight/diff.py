"""Where a .rush file and the model that it came from part."""

import os

import torch

from . import _C
from .front import inputs, patches
from .front.capture import capture


class Diff:
    """What came of a comparison. print() it; it is true where all values agree.

    Attributes:
        agree: whether all agree
        where: the first that differs: instruction, operator, Python line, round of a loop, and how; "" where all agree
        compared: how many runs of operators, and of whole branches and loops, agreed up to there
        unpaired: how many had no counterpart in PyTorch's graph
        max_abs: the greatest difference of floating-point numbers in what agrees
        max_rel: the same relative to PyTorch's, as in Report
        text: what print() shows
    """

    def __init__(self, fields):
        self.__dict__.update(fields)

    def __bool__(self):
        return self.agree

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<rushlight.Diff: {'agrees' if self.agree else self.where}>"


def diff(path, model=None, example_inputs=(), *, method="forward", train=False, rtol=-1.0, atol=-1.0):
    """Runs a .rush file beside PyTorch and names the first value that differs.

    Compared is what each operator, branch and loop gives with what its node gives in PyTorch's graph, which is run as
    it was before freezing: paired by debug handle, loops round by round. What was folded or fused is compared where its
    value comes out. Random numbers are those of torch.manual_seed(1) on both sides.

    Args:
        path: of the .rush file
        model: what it was exported from, as for export(); None: the trace in the file (export(..., trace=True))
        example_inputs: a tuple of positional arguments (or one tensor), or a dict of them by name
        method: which method to run
        train: leave the training mode as it is
        rtol: an element agrees where it differs by at most rtol times itself plus atol times the tensor's greatest
            element (at least 1); by default what the dtype deserves, and a value agrees also where it is as near as
            PyTorch's to what the same graph gives in float64
        atol: see rtol

    Returns:
        a Diff

    Raises:
        RushlightError: the file was exported from another graph, or without sources, or holds no trace
        ValueError: the inputs do not fit
    """
    if model is None:
        return Diff(_C.diff_file(os.fspath(path)))
    model = inputs.unwrapped(model)
    args, names = inputs.positional(model, example_inputs)
    captured = capture(model, args, train, names=names)
    if captured.program is not None:
        return Diff(_C.diff_graph(os.fspath(path), args, lambda _, exact: captured.tracer(args, exact), rtol, atol))
    with torch.no_grad(), patches.applied(None, ("fast path",)):
        return Diff(_C.diff_model(os.fspath(path), captured.target, method, args, train, rtol, atol))
