"""The exception that this package raises."""

import contextlib


class RushlightError(RuntimeError):
    """A model that cannot be exported, a file that cannot be loaded, or a run that failed.

    Wrong arguments of a call raise ValueError or TypeError instead. The message names the place from the outside in (method,
    instruction, operator, Python line), then what was expected and what was found.
    """

    code: str
    """One of 'out-of-memory', 'bad-file', 'unsupported' (the model or the file needs something that Rushlight lacks),
    'bad-argument', 'bad-state', 'model-raised' (the program ran `raise` or `assert`), 'mismatch' and 'interrupted'."""

    op: str | None
    """The operator that failed, such as "aten::add.Tensor"; None if no operator failed."""

    source: str | None
    """The Python line of that operator, such as "model.py:7"; None if the file does not store it."""

    specialized: str | None
    """'sizes' or 'values' if the trace may have fixed the example's, so that the file fails or differs for others; else None."""

    def __init__(self, code, message, op=None, source=None, specialized=None):
        super().__init__(message)
        self.code = code
        self.op = op
        self.source = source
        self.specialized = specialized


def unsupported(message):
    """Returns the error for a model that cannot be exported."""
    return RushlightError("unsupported", message)


@contextlib.contextmanager
def utf8_only():
    """Names a str of a model that is not UTF-8, which PyTorch can neither give to Python nor take from it."""
    try:
        yield
    except UnicodeError as error:
        part = error.object[max(error.start - 20, 0):error.end + 20]
        raise unsupported(f"the names and strings of a model must be UTF-8, got {part!r}") from error
