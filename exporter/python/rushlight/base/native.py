"""The library librushlight_native, which depends on no version of Python or PyTorch: exporter/src/api/api.h."""

import contextlib
import ctypes
import itertools
import json
import sys
import threading

from .errors import RushlightError
from .torch_messages import reason_of
from .values import Request

_ERRORS = {error.__name__: error for error in (ValueError, IndexError, MemoryError, RuntimeError)}
_HOOKS = "PyEval_SaveThread", "PyEval_RestoreThread", "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals"


class _Python(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in _HOOKS]


_Ask = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)


class _Library:
    """The loaded library, and the exceptions of the questions that it asks."""

    def __init__(self, path):
        # A PyDLL keeps Python's lock, which the library releases during long functions, and raises a pending exception after a call.
        self._dll = ctypes.PyDLL(path)
        self._call = self._dll.rushlight_call
        self._call.restype = ctypes.c_char_p
        self._dll.rushlight_release.argtypes = [ctypes.c_int64]
        self._exceptions, self._numbers = {}, itertools.count(1)
        self._ask = _Ask(self._answer)
        hooks = _Python(*(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _HOOKS))
        self._dll.rushlight_start(hooks, self._ask)

    def call(self, function, request):
        _current.kept.append([])
        try:
            answer = json.loads(self._call(function.encode(), json.dumps(request).encode()).decode())
        finally:
            _current.kept.pop()
        if "ok" in answer:
            return answer["ok"]
        error = answer["error"]
        if "exception" in error:
            raise self._exceptions.pop(error["exception"])
        if error["type"] == "RushlightError":
            raise RushlightError(*(error[name] for name in ("code", "message", "op", "source", "specialized")))
        raise _ERRORS[error["type"]](error["message"])

    def release(self, storage):
        """Releases the memory of a result's storage."""
        self._dll.rushlight_release(storage)

    def forget(self, numbers):
        """Releases exceptions that the library did not raise again."""
        for number in numbers:
            self._exceptions.pop(number, None)

    def _answer(self, what, request):
        values = Request()  # which lives until the library has read the answer, or until the call ends
        try:
            answer = {"ok": _answer_to(what.decode())(json.loads(request.decode()), values)}
        except BaseException as e:  # it is raised again after the call
            number = next(self._numbers)
            self._exceptions[number] = e
            if _current.frames:
                _current.frames[-1].exceptions.append(number)
            answer = {"error": {"message": reason_of(e) if isinstance(e, Exception) else None, "exception": number}}
        if values.lasts:
            _current.kept[-1].append(values)
        self._dll.rushlight_answer(json.dumps(answer).encode())


class _Frame:
    def __init__(self, answers):
        self.answers, self.exceptions = answers, []


class _Current(threading.local):
    """The answers of the calls that this thread makes, and the values that the library uses until each call ends. The innermost are
    last."""

    def __init__(self):
        self.frames, self.kept = [], []


_current = _Current()


def _answer_to(what):
    if _current.frames and what in _current.frames[-1].answers:
        return _current.frames[-1].answers[what]
    return answers[what]


def _write(text, _):
    sys.stdout.write(text)


answers = {"print": _write}
"""{question: function (request, values) -> answer} for all calls. `values` is a Request for the values of the answer."""

_library = _find = None


def use(find):
    """Sets the function that finds the path of the library, or compiles the library."""
    global _find
    _find = find


def library():
    """Returns the library, which the first call loads."""
    global _library
    if _library is None:
        _library = _Library(_find())
    return _library


def call(function, request=None, /, **fields):
    """Calls a function of the library. The request is one value, or fields by name.

    Raises:
        RushlightError, ValueError, ...: as the library reports
    """
    return library().call(function, fields if request is None else request)


@contextlib.contextmanager
def with_answers(of_calls):
    """The calls that this thread makes meanwhile have further answers, in the form of `answers`."""
    frame = _Frame(of_calls)
    _current.frames.append(frame)
    try:
        yield
    finally:
        _current.frames.pop()
        library().forget(frame.exceptions)
