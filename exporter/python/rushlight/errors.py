"""What goes wrong, as one class."""


class RushlightError(RuntimeError):
    """What the runtime refuses or fails at, and what of a model cannot be exported; arguments of a call that do not fit
    are ValueErrors. The message reads from the outside in: method, instruction, operator, Python line, what was wanted
    and what was found."""

    code: str
    """What went wrong: 'out-of-memory', 'bad-file', 'unsupported' (the model or the file needs something that Rushlight
    lacks), 'bad-argument', 'bad-state', 'model-raised' (the program ran `raise` or `assert`), 'mismatch' or
    'interrupted'."""

    op: str | None
    """The operator that failed, "aten::add.Tensor"; None where it was none."""

    source: str | None
    """Its Python line, "model.py:7", where the file says it."""

    def __init__(self, code, message, op=None, source=None):
        super().__init__(message)
        self.code = code
        self.op = op
        self.source = source


def unsupported(message):
    """What of a model cannot be exported."""
    return RushlightError("unsupported", message)
