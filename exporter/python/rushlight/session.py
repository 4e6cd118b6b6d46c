"""Running a .rush file natively."""

import os

from . import _C


class Session:
    """One model with its state. One thread at a time; Python's lock is released during a run."""

    def __init__(self, source):
        """`source`: a path, or the bytes of a file."""
        self._session = _C.Session(source if isinstance(source, bytes) else os.fspath(source))

    def __call__(self, *args):
        return self.call("forward", *args)

    def call(self, method, *args):
        """The method's return value, as PyTorch gives it. Inputs are copied in."""
        return self._session.run(method, args)

    def run(self, inputs, method="forward"):
        """{input name: value} to {output name: value}."""
        names = self.inputs(method)
        unknown = [n for n in inputs if n not in names]
        if unknown:
            raise ValueError(f"there is no input {unknown[0]!r}; the inputs are {', '.join(names)}")
        args = []
        for i, name in enumerate(names):
            if name in inputs:
                args.append(inputs[name])
            elif any(n in inputs for n in names[i + 1:]):
                raise ValueError(f"the input {name!r} is missing")
        result = self.call(method, *args)
        outputs = self.outputs(method)
        if not outputs:
            return {}
        return dict(zip(outputs, result if isinstance(result, tuple) else (result,)))

    def reset(self):
        """Sets the attributes that the program writes back to the file's values."""
        self._session.reset()

    def methods(self):
        return self._session.methods()

    def inputs(self, method="forward"):
        return self._session.inputs(method)

    def outputs(self, method="forward"):
        return self._session.outputs(method)

    def verify(self):
        """Replays the file's test vectors: a list of (max_abs, max_rel, values compared)."""
        out = []
        for i in range(self._session.test_count()):
            self._session.reset()
            out.append(self._session.verify(i))
        self._session.reset()
        return out


def load(source):
    """A Session of a .rush file (a path, or its bytes)."""
    return Session(source)
