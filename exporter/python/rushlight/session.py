"""Runs a .rush file natively."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import pickle
import sys
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .assets import read_asset
from .base import native
from .base.printable import printable
from .base.results import Answer
from .base.values import Request, as_tuples


class Replay(tuple[float, float, int]):
    """The result of one test vector: the tuple (max_abs, max_rel, compared).

    Attributes:
        max_abs (float): the largest absolute difference of floating-point numbers
        max_rel (float): the largest relative difference, as in Report
        compared (int): number of compared values
        measured, pytorch, rushlight, difference: the distances to the answer in float64, as in Report
    """

    if TYPE_CHECKING:  # the docstring describes them
        max_abs: float
        max_rel: float
        compared: int
        measured: int
        pytorch: dict[str, float]
        rushlight: dict[str, float]
        difference: dict[str, float]

    def __new__(cls, max_abs, max_rel, compared, measured, pytorch, rushlight, difference):
        self = super().__new__(cls, (max_abs, max_rel, compared))
        self.max_abs, self.max_rel, self.compared = self
        self.measured, self.pytorch, self.rushlight, self.difference = measured, pytorch, rushlight, difference
        return self


class _WrongInputs(ValueError):
    """The names of inputs are wrong. A dict raises this ValueError, a call raises a TypeError."""


class Session:
    """A loaded model with its state, in the native runtime. It runs on the CPU, without gradients.

    Only one thread at a time may use a session. Meanwhile it raises RuntimeError in other threads, and in a signal handler that
    interrupts a run. Give each thread its own session with `clone()`, which shares the loaded model. A run releases the global
    interpreter lock, so that sessions in several threads run at the same time:

        model = rushlight.load("model.rush")
        local = threading.local()

        def answer(x):  # in any thread
            if not hasattr(local, "session"):
                local.session = model.clone()
            return local.session(x)

    A pickled session contains its file and its state, so that it can be sent to other processes and machines.
    """

    def __init__(self, source: str | os.PathLike[str] | bytes, *, threads: int = 1, max_bytes: int = 0, max_steps: int = 0) -> None:
        """
        Args:
            source (str, PathLike or bytes): the path of a file, or its contents
            threads (int): number of threads for long operators, including the caller's, from 1 to 64. Results do not depend on it
            max_bytes (int): limit on the memory of the model and its runs, in bytes. A run that needs more raises RushlightError
                ('out-of-memory'). 0 means no limit
            max_steps (int): limit on the instructions of one run, which ends a loop without end ('interrupted'). 0 means no limit

        Raises:
            RushlightError: the file is damaged ('bad-file'), or the runtime lacks something that it needs ('unsupported')
            ValueError: a number is out of range
            KeyboardInterrupt: Ctrl-C ends loading, and any run
        """
        if min(max_bytes, max_steps) < 0:
            raise ValueError(f"max_bytes and max_steps must be at least 0, got {max_bytes} and {max_steps}")
        if not 1 <= threads <= 64:
            raise ValueError(f"threads must be between 1 and 64, got {threads}")
        self._source = source if isinstance(source, bytes) else os.path.abspath(source)
        self._version = self._source_version()
        self._options = {"threads": threads, "max_bytes": max_bytes, "max_steps": max_steps}
        self._optional_names = self._none_names = None
        request = Request()
        source = request.memory(source) if isinstance(source, bytes) else os.fspath(source)
        self._open(native.call("session.open", source=source, **self._options))
        signature = self._call("signature")
        self._methods = {method["name"]: method for method in signature["methods"]}
        self._tests, self._stateful = signature["tests"], signature["stateful"]

    def _open(self, number):
        self._number = number
        self._close = weakref.finalize(self, native.call, "session.close", session=number)
        self._close.atexit = False

    def _call(self, function, **request):
        return native.call(f"session.{function}", session=self._number, **request)

    def clone(self) -> Session:
        """Makes another session on the same loaded model, for another thread.

        The sessions share the weights. The clone has a copy of this session's state and its own random seed. Its options are the
        same, except that `max_bytes` limits the clone's own runs alone. The clone stays valid when this session is deleted.

        Returns:
            Session

        Raises:
            RushlightError: the model has state, and this session is running ('bad-state')
        """
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone._open(self._call("clone", **self._options))
        if self._stateful:
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
            raise pickle.PicklingError(f"{self._source} has changed since the session loaded it: load it again")
        return _restored, (file, self._options, self._saved_state())

    def _saved_state(self):
        if not self._stateful:
            return None
        import torch

        state = io.BytesIO()
        torch.save(self.state(), state)  # which, unlike pickle, keeps what tensors share
        return state.getvalue()

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """Runs forward: `call("forward", *args, **named)`."""
        return self.call("forward", *args, **named)

    def __repr__(self) -> str:
        methods = (f"{m}({', '.join(self.inputs(m))}) -> ({', '.join(self.outputs(m))})" for m in self.methods())
        return printable(f"<rushlight.Session: {'; '.join(methods)}>")

    def call(self, method: str, /, *args: Any, **named: Any) -> Any:
        """Runs a method.

        Args:
            method (str): its name
            args: positional arguments, of the types that the method was exported with: tensors on the CPU, numbers, strings, lists,
                tuples and dicts. A tensor may be PyTorch's or NumPy's, or an object with `__dlpack__` or the buffer protocol, such as
                array.array. The results of such an object are NumPy's. As in PyTorch, a bool may stand for a number, an int for a
                float, and a tensor with one element for either. Trailing arguments with defaults may be left out. Tensors may have
                any strides. An enum or an object of a class of the program may also be a named tuple with the enum's name and value,
                or with the object's attributes. An argument that was None in the example inputs of a traced model may be left out or None
            named: further arguments by name

        Returns:
            The result in the structure that PyTorch gives. Its tensors belong to the caller. An enum or an object of a class of the
            program is a named tuple with the name of the class.

        Raises:
            RushlightError: the run failed; `code` says why. It is 'bad-state' if the session is running
            ValueError: there is no such method
            TypeError: the arguments do not match the inputs of the method
        """
        self._check_method(method)
        names = self._names(method)
        try:
            if len(args) > len(names) or any(arg is None for arg in args):
                args = self._without_none(args, method)
            if len(args) > len(names):
                raise TypeError(f"{method}() takes {len(names)} input{'s' * (len(names) != 1)} ({', '.join(names)}), got {len(args)}")
            if named or len(args) < len(names):
                args += self._in_order(named, method, len(args))
        except _WrongInputs as e:
            raise TypeError(f"{method}(): {e}") from None
        return self._run(method, args)

    def _run(self, method, args):
        request = Request()
        values = []
        for name, type_, arg in zip(self._names(method), self._methods[method]["types"], args):
            try:
                values.append(request.value(as_tuples(arg, type_)))
            except (TypeError, ValueError) as e:
                raise (TypeError if isinstance(e, TypeError) else ValueError)(f"{method}(): the input {name!r}: {e}") from None
        answer = self._call("run", method=method, args=values)
        return Answer(answer, self._gives_arrays(request)).value()

    def _gives_arrays(self, request):
        """Returns whether tensors of an answer become NumPy arrays: if those of the request are, or without PyTorch."""
        if request.numpy or request.torch:
            return not request.torch
        return "torch" not in sys.modules and importlib.util.find_spec("torch") is None

    def _check_method(self, method):
        if not isinstance(method, str):
            raise TypeError(f"the first argument of call() must be the name of a method ({', '.join(self.methods())}), got "
                            f"{type(method).__name__}: use call('{self.methods()[0]}', ...), or session(...) for forward")

    def _names(self, method):
        return self._method(method)["inputs"]

    def _method(self, name):
        if name in self._methods:
            return self._methods[name]
        raise ValueError(f"the model has no method '{name}'; it has {', '.join(self._methods)}")

    def _read_description(self):
        if self._optional_names is None:
            described = json.loads(self._call("describe"))
            self._none_names = described["meta"].get("none inputs", "{}")
            self._optional_names = {m["name"]: {i["name"] for i in m["inputs"] if i["optional"]} for m in described["methods"]}

    def _optional(self, method):
        """Names of the inputs with defaults."""
        self._read_description()
        return self._optional_names[method]

    def _none(self, method):
        """{position: name} of the model's arguments that were None in the example. The file has no inputs for them."""
        self._read_description()
        try:
            return {int(position): str(name) for position, name in json.loads(self._none_names)[method]}
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError):  # a file of others may have any text here
            return {}

    def _without_none(self, args, method):
        """Returns the positional arguments without those for which the file has no inputs, if they are there."""
        none = self._none(method)
        other = next((i for i in none if 0 <= i < len(args) and args[i] is not None), None)
        if other is None:
            return tuple(arg for i, arg in enumerate(args) if i not in none)
        if len(args) > len(self._names(method)):
            raise _not_none(none[other], args[other])
        return args

    def _named_without_none(self, named, method):
        none = set(self._none(method).values()).difference(self._names(method))
        for name in none.intersection(named):
            if named[name] is not None:
                raise _not_none(name, named[name])
        return {name: value for name, value in named.items() if name not in none}

    def _in_order(self, named, method, taken):
        """Returns the positional arguments after the first `taken`, from inputs by name."""
        names = self._names(method)
        if not set(names).issuperset(named):
            named = self._named_without_none(named, method)
        optional = self._optional(method) if len(names) > taken + len(named) else ()
        for name in named:
            if name not in names:
                raise _WrongInputs(f"there is no input {name!r}; the inputs are {', '.join(names) or 'none'}")
            if name in names[:taken]:
                raise _WrongInputs(f"the input {name!r} is given twice")
        args = []
        for i, name in enumerate(names[taken:], taken):
            if name in named:
                args.append(named[name])
            elif name not in optional or any(n in named for n in names[i + 1:]):
                raise _WrongInputs(f"the input {name!r} is missing; the inputs are {', '.join(names)}")
        return tuple(args)

    def run(self, inputs: Mapping[str, Any], method: str = "forward") -> dict[str, Any]:
        """Runs a method with inputs and outputs by name.

        Args:
            inputs (dict): {input: value}
            method (str): its name

        Returns:
            dict: {output: value}

        Raises:
            ValueError: an input is unknown or missing
            TypeError: `inputs` is not a dict, or `method` is not a name
            RushlightError: as call()
        """
        if not isinstance(inputs, Mapping):
            raise TypeError(f"the inputs of run() must be a dict by name ({', '.join(self.inputs())}), got {type(inputs).__name__}: "
                            "session(...) takes positional arguments")
        if not isinstance(method, str):
            raise TypeError(f"the second argument of run() must be the name of a method ({', '.join(self.methods())}), got "
                            f"{type(method).__name__}")
        result = self._run(method, self._in_order(inputs, method, 0))
        outputs = self.outputs(method)
        if not outputs:
            return {}
        return dict(zip(outputs, result if isinstance(result, tuple) else (result,)))

    def state(self) -> dict[str, Any]:
        """Copies the attributes that the program writes.

        Returns:
            dict: {path: value}. Tensors that share memory also share it in the copy
        """
        return Answer(self._call("state"), self._gives_arrays(Request())).fields()

    def set_state(self, values: Mapping[str, Any]) -> None:
        """Sets attributes that the program writes.

        Args:
            values (dict): {path: value} with all or some of the attributes in state()

        Raises:
            ValueError: the program writes no attribute of this path
            RushlightError: the value has another type ('bad-argument')
        """
        request = Request()
        self._call("set_state", values={_name(name): _attribute(name, value, request) for name, value in dict(values).items()})

    def reset(self) -> None:
        """Sets all attributes that the program writes to the values in the file."""
        self._call("reset")

    def manual_seed(self, seed: int) -> None:
        """Seeds the random numbers of the session, which are then those of torch.manual_seed(seed) (torch 2.6, CPU, without MKL).

        The operating system gives the seed of a new session. reset() does not change the random numbers.

        Args:
            seed (int): the seed
        """
        seed &= (1 << 64) - 1
        self._call("manual_seed", seed=seed - (seed >> 63 << 64))

    def methods(self) -> list[str]:
        """Names of the methods (list of str), in the order of the file."""
        return list(self._methods)

    def inputs(self, method: str = "forward") -> list[str]:
        """Names of a method's inputs (list of str), in order."""
        return list(self._method(method)["inputs"])

    def outputs(self, method: str = "forward") -> list[str]:
        """Names of a method's outputs (list of str): one for each item of a tuple, none for None, else one."""
        return list(self._method(method)["outputs"])

    def assets(self) -> list[str]:
        """Names of the assets in the file (list of str), sorted."""
        return list(self._assets())

    def asset(self, name: str) -> bytes:
        """Reads an asset: a file for the application, which export() has stored.

        Args:
            name (str): its name

        Returns:
            bytes

        Raises:
            ValueError: there is no such asset
            RushlightError: its bytes are damaged, or the file has changed since it was loaded ('bad-file')
        """
        assets = self._assets()
        if name not in assets:
            raise ValueError(f"the file has no asset {name!r}; it has {', '.join(assets) or 'none'}")
        return read_asset(self._source, assets[name])

    def _assets(self):
        return {asset["name"]: asset for asset in json.loads(self._call("describe"))["assets"]}

    def verify(self) -> list[Replay]:
        """Replays the test vectors of the file, each from the state in the file.

        An answer is accepted if it is close as in torch.allclose, where NaN equals NaN. It is also accepted if it is as close as
        PyTorch's to the answer in float64, if the file stores that.

        Returns:
            list of Replay: one for each test vector

        Raises:
            RushlightError: an answer differs ('mismatch'; the message says where), or a run fails
        """
        out = []
        for i in range(self._tests):
            self.reset()
            out.append(Replay(*self._call("verify", test=i)))
        self.reset()
        return out


def _not_none(name, value):
    return _WrongInputs(f"the input {name!r} must be None, as in the example inputs of the export, got {type(value).__name__}")


def _name(name):
    if not isinstance(name, str):
        raise ValueError(f"the path of an attribute must be a str, got {type(name).__name__}")
    return name


def _attribute(name, value, request):
    try:
        return request.value(value)
    except ValueError as e:
        raise ValueError(f"the attribute {name!r}: {e}") from None


def _restored(file, options, state):
    session = Session(file, **options)
    if state is not None:
        import torch

        session.set_state(torch.load(io.BytesIO(state), weights_only=True))
    return session


def load(source: str | os.PathLike[str] | bytes, *, threads: int = 1, max_bytes: int = 0, max_steps: int = 0) -> Session:
    """Loads a .rush file.

    Args:
        source (str, PathLike or bytes): the path of a file, or its contents
        threads, max_bytes, max_steps: as for Session

    Returns:
        Session

    Raises:
        RushlightError: the file is damaged ('bad-file'), or the runtime lacks something that it needs ('unsupported')
    """
    return Session(source, threads=threads, max_bytes=max_bytes, max_steps=max_steps)
