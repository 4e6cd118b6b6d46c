"""Running a .rush file natively."""

import collections.abc
import io
import json
import os
import pickle

import torch

from . import _C
from .base.printable import printable


class Replay(tuple):
    """What came of a test vector: (max_abs, max_rel, values compared), and as attributes the same and the distances to what
    the program gives in float64, as in Report: measured, pytorch, rushlight, difference."""

    def __new__(cls, max_abs, max_rel, compared, measured, pytorch, rushlight, difference):
        self = super().__new__(cls, (max_abs, max_rel, compared))
        self.max_abs, self.max_rel, self.compared = self
        self.measured, self.pytorch, self.rushlight, self.difference = measured, pytorch, rushlight, difference
        return self


class _Unfit(ValueError):
    """Names of inputs that do not fit: in a dict a ValueError, in a call a TypeError."""


class Session:
    """One model with its state, in the native runtime: on the CPU, without gradients.

    A session is used by one thread at a time: while one uses it, all others get a RuntimeError, and so does what a run
    itself calls, such as a signal handler. Threads that share a model have a session each: `clone` makes one on the model
    that is loaded already. Python's lock is released during a run, so that sessions on several threads run at once:

        model = rushlight.load("model.rush")
        local = threading.local()

        def answer(x):  # in any thread
            if not hasattr(local, "session"):
                local.session = model.clone()
            return local.session(x)

    A session can be pickled, with its file and its state, so that other processes and machines can have it.
    """

    def __init__(self, source, *, threads=1, max_bytes=0, max_steps=0):
        """
        Args:
            source: a path, or the bytes of a file
            threads: how many long operators run on, the caller's among them; results do not depend on it
            max_bytes: the most memory that model and runs may take; what needs more fails ('out-of-memory'). 0: no limit
            max_steps: the most instructions of one run; a loop that does not end fails there ('interrupted'). 0: no limit

        Raises:
            RushlightError: the file is damaged ('bad-file'), or needs what this runtime lacks ('unsupported')
            KeyboardInterrupt: Ctrl-C ends loading and runs, also inside a long operator
        """
        if min(max_bytes, max_steps) < 0:
            raise ValueError("max_bytes and max_steps are not negative")
        if not 1 <= threads <= 64:
            raise ValueError(f"threads is 1 to 64, not {threads}")
        self._source = source if isinstance(source, bytes) else os.path.abspath(source)
        self._version = self._source_version()
        self._options = {"threads": threads, "max_bytes": max_bytes, "max_steps": max_steps}
        self._known, self._with_defaults = {}, None
        self._session = _C.Session(source if isinstance(source, bytes) else os.fspath(source), max_bytes, max_steps, threads)

    def clone(self):
        """Makes another session on the same loaded model, for another thread. The file is not read again, and the model's
        weights are in memory once. The clone has this session's state, as a copy, a seed of its own, and the same options,
        where max_bytes is what the clone's own runs may take. It goes on when this session is gone.

        Raises:
            RushlightError: the model has state, and this session is running ('bad-state')
        """
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone._session = self._session.clone(*(self._options[name] for name in ("max_bytes", "max_steps", "threads")))
        if self._session.stateful():
            clone.set_state(self.state())
        return clone

    def _source_version(self):
        if isinstance(self._source, bytes) or not os.path.exists(self._source):
            return None
        stat = os.stat(self._source)
        return stat.st_size, stat.st_mtime_ns

    def __reduce__(self):
        if isinstance(self._source, bytes):
            file = self._source
        elif self._version is not None and self._version == self._source_version():
            with open(self._source, "rb") as f:
                file = f.read()
        else:
            raise pickle.PicklingError(f"{self._source} is not what it was when the session loaded it")
        state = io.BytesIO()
        torch.save(self.state(), state)  # which, unlike pickle, keeps what tensors share
        return _restored, (file, self._options, state.getvalue())

    def __call__(self, /, *args, **named):
        """call("forward", *args, **named)."""
        return self.call("forward", *args, **named)

    def __repr__(self):
        methods = (f"{m}({', '.join(self.inputs(m))}) -> ({', '.join(self.outputs(m))})" for m in self.methods())
        return printable(f"<rushlight.Session: {'; '.join(methods)}>")

    def call(self, method, /, *args, **named):
        """Runs a method.

        Args:
            method: its name
            args: arguments by place, of the types that the method was exported with: tensors of any shape that the
                program takes, numbers, strings, lists, tuples, dicts. As in PyTorch, a bool may stand for a number, an
                int for a float, and a tensor of one element for either. They are copied in, views with their strides and
                their place in their storage (but for what is small far inside of a large one, which counts from its
                first element); trailing ones may be left to their defaults. Where the program takes an enum or an object of
                a class of its own, so do you, or a named tuple: of the enum's name and value, of the object's attributes
            named: the following ones by name

        Returns:
            What the method returns, in its own structure, as PyTorch gives it: named tuples, too. An enum or an object of
            a class of the program's own is a named tuple of the class's name, with `name` and `value`, or with the object's
            attributes. Tensors are the caller's.

        Raises:
            RushlightError: as its code says; 'bad-state', where the session is running
            ValueError: no such method
            TypeError: arguments that a Python function of these inputs would not take: one too many, a name that it does not
                have, one given twice or missing; or the method's name is missing
        """
        self._check_method(method)
        names = self._names(method)
        if len(args) > len(names):
            raise TypeError(f"{method}() takes {len(names)} input{'s' * (len(names) != 1)} ({', '.join(names)}), got {len(args)}")
        if named or len(args) < len(names):
            try:
                args += self._in_order(named, method, len(args))
            except _Unfit as e:
                raise TypeError(f"{method}(): {e}") from None
        return self._session.run(method, args)

    def _check_method(self, method):
        if not isinstance(method, str):
            raise TypeError(f"call()'s first argument is the method's name, of {', '.join(self.methods())}, and not a value "
                            f"({type(method).__name__}): call('{self.methods()[0]}', ...), or session(...) for forward")

    def _names(self, method):
        if method not in self._known:
            self._known[method] = self.inputs(method)
        return self._known[method]

    def _optional(self, method):
        """Names of the inputs that have defaults."""
        if self._with_defaults is None:
            methods = json.loads(self._session.describe())["methods"]
            self._with_defaults = {m["name"]: {i["name"] for i in m["inputs"] if i["optional"]} for m in methods}
        return self._with_defaults[method]

    def _in_order(self, named, method, taken):
        """Inputs by name as those by place that follow the first `taken`."""
        names = self._names(method)
        optional = self._optional(method) if len(names) > taken + len(named) else ()
        for name in named:
            if name not in names:
                raise _Unfit(f"there is no input {name!r}; the inputs are {', '.join(names) or 'none'}")
            if name in names[:taken]:
                raise _Unfit(f"the input {name!r} is given twice")
        args = []
        for i, name in enumerate(names[taken:], taken):
            if name in named:
                args.append(named[name])
            elif name not in optional or any(n in named for n in names[i + 1:]):
                raise _Unfit(f"the input {name!r} is missing; the inputs are {', '.join(names)}")
        return tuple(args)

    def run(self, inputs, method="forward"):
        """The same by name: {input: value} to {output: value}.

        Raises:
            ValueError: an input that the method does not have, or one that is missing
            TypeError: the inputs are no dict
            RushlightError: as call()
        """
        if not isinstance(inputs, collections.abc.Mapping):
            raise TypeError(f"run() takes a dict of inputs by name ({', '.join(self.inputs())}), not {type(inputs).__name__}: "
                            "session(...) takes them by place")
        if not isinstance(method, str):
            raise TypeError(f"run()'s second argument is the method's name, of {', '.join(self.methods())}, and not a value "
                            f"({type(method).__name__})")
        result = self._session.run(method, self._in_order(inputs, method, 0))
        outputs = self.outputs(method)
        if not outputs:
            return {}
        return dict(zip(outputs, result if isinstance(result, tuple) else (result,)))

    def state(self):
        """A copy of the attributes that the program writes, {path: value}; tensors that share memory share it in the copy."""
        return self._session.state()

    def set_state(self, values):
        """Gives attributes that the program writes other values, all of state()'s or some.

        Raises:
            ValueError: the program writes no such attribute
            RushlightError: a value is of another type ('bad-argument')
        """
        self._session.set_state(dict(values))

    def reset(self):
        """Sets the attributes that the program writes back to the file's values."""
        self._session.reset()

    def manual_seed(self, seed):
        """Seeds the session's random numbers, which then are those of torch.manual_seed(seed) (torch 2.6, CPU,
        without MKL). A new session's seed is the system's; reset() leaves the generator as it is."""
        self._session.manual_seed(seed & (1 << 64) - 1)

    def methods(self):
        """Names of the methods, in the file's order."""
        return self._session.methods()

    def inputs(self, method="forward"):
        """Names of a method's arguments, in order."""
        return self._session.inputs(method)

    def outputs(self, method="forward"):
        """Names of a method's results: the items of a tuple, none for None, else one."""
        return self._session.outputs(method)

    def verify(self):
        """Replays the file's test vectors, each on the file's state. An answer is right as torch.allclose says, NaN equal to
        NaN, or where it is as near as PyTorch's to what the program gives in float64, as far as the file has that.

        Returns:
            For each vector a Replay: (max_abs, max_rel, values compared); the differences are those of floating-point numbers,
            as in Report. Its attributes have the distances to float64's answer.

        Raises:
            RushlightError: an answer differs ('mismatch'; the message says where), or a run fails
        """
        out = []
        for i in range(self._session.test_count()):
            self._session.reset()
            out.append(Replay(*self._session.verify(i)))
        self._session.reset()
        return out


def _restored(file, options, state):
    session = Session(file, **options)
    session.set_state(torch.load(io.BytesIO(state), weights_only=True))
    return session


def load(source, *, threads=1, max_bytes=0, max_steps=0):
    """A Session of a .rush file (a path, or its bytes), with threads and limits as Session has them."""
    return Session(source, threads=threads, max_bytes=max_bytes, max_steps=max_steps)
