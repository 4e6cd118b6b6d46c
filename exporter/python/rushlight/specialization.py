"""Explains an error that tracing may have caused, because it fixed sizes or values of the example."""

from .base.errors import RushlightError
from .front.captured import grouped

_CONSTRAINT = ("if such sizes never occur, give a range: Dim(name, min=..., max=...). A size that dynamic_shapes leaves out stays as "
               "dynamic as the program leaves it, and is neither verified nor checked")

_INT = ("int(...) of a size gives a constant, the example's size: compute sizes with integer operators alone, "
        "h // 14 * 14 in place of int(h / 14) * 14, and without int() around them")


def explain_specialization(error, captured):
    """Returns the error with the tracer's warnings and a remedy. It is `error` itself if nothing was fixed."""
    if not error.specialized:
        return error
    text = str(error)
    if captured.route == "traced":
        fixed = grouped(captured.warnings) or ["(the tracer gave no warning: look for numbers that the model computes in Python)"]
        text += "\n".join([f"\ntracing fixed these {error.specialized} of the example:", *(f"  {line}" for line in fixed)])
        if error.specialized == "sizes" and any(warning.of_int for warning in captured.warnings):
            text += f"\n{_INT}"
    if error.specialized == "sizes":
        text += f"\n{_CONSTRAINT}"
    out = RushlightError(error.code, text, error.op, error.source, error.specialized)
    out.__cause__ = error
    return out
