"""Compares a .rush file with its model, operator by operator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from .base import core
from .front import inputs, patches
from .front.answers import tracing
from .front.capture import capture
from .front.torchscript import export as torchscript


class Diff:
    """The result of diff(). print() shows it. It is true if all values agree.

    Attributes:
        agree (bool): whether all values agree
        where (str): the first value that differs: instruction, operator, Python line, iteration of a loop, and the difference; "" if
            all agree
        compared (int): number of operators, branches and loops that agree before it
        unpaired (int): number of those without a counterpart in PyTorch's graph
        max_abs (float): the largest absolute difference of floating-point numbers that agree
        max_rel (float): the largest relative difference, as in Report
        text (str): the text that print() shows
    """

    if TYPE_CHECKING:  # the docstring describes them
        agree: bool
        where: str
        compared: int
        unpaired: int
        max_abs: float
        max_rel: float
        text: str

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<rushlight.Diff: {'agrees' if self.agree else self.where}>"


def diff(
    path: str | os.PathLike[str],
    model: Any = None,
    example_inputs: Any = (),
    *,
    method: str = "forward",
    train: bool = False,
    rtol: float = -1.0,
    atol: float = -1.0,
) -> Diff:
    """Runs a .rush file and its model, and names the first value that differs.

    The result of each operator, branch and loop is compared with that of its node in PyTorch's graph, as the graph was before it was
    frozen. Loops are compared iteration by iteration. An operator that was fused is compared where its result is used. Both sides use
    the random numbers of torch.manual_seed(1).

    Args:
        path (str or PathLike): path of the .rush file
        model: the model from which it was exported, as for export(). None uses the trace in the file, see export(trace=True)
        example_inputs: one tensor, a tuple of positional arguments, or a dict by name
        method (str): name of the method to run
        train (bool): keep the training mode
        rtol (float): relative tolerance. An element agrees if it differs by at most rtol times itself plus atol times the largest
            element of its tensor (at least 1). The default depends on the dtype; a value then also agrees if it is as close as PyTorch's
            to the result in float64
        atol (float): absolute tolerance, see rtol

    Returns:
        Diff

    Raises:
        RushlightError: the file was exported from another graph or without sources, or has no trace
        ValueError: the inputs do not match the method
    """
    if model is None:
        return Diff(core.diff_file(os.fspath(path)))
    model = inputs.unwrapped(model)
    args, names = inputs.positional(model, example_inputs)
    captured = capture(model, args, train, names=names)
    if captured.program is not None:
        return Diff(core.diff_graph(os.fspath(path), method, args, None,
                                    tracing(lambda name, _, exact: captured.tracer(name, args, exact)), rtol, atol))
    subject = torchscript.subject_of(captured.target, train, args, is_traced=captured.reference is not None)
    args = subject.checked(method, args)
    with torch.no_grad(), patches.applied(None, ("fast path",)):
        return Diff(core.diff_graph(os.fspath(path), method, args, subject.types(method), tracing(subject.trace), rtol, atol))
