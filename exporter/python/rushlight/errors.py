"""What goes wrong, as one class."""


class RushlightError(RuntimeError):
    """An error of Rushlight. `code` is one of the status names, e.g. 'unsupported' or 'bad-file'."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
