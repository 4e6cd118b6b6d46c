"""The library librushlight_native, which depends on no version of Python or PyTorch: exporter/src/api/api.h."""

import ctypes
import itertools
import json
import sys

from .errors import RushlightError

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
        self._dll.rushlight_call.restype = ctypes.c_char_p
        self._dll.rushlight_release.argtypes = [ctypes.c_int64]
        self._answers, self._exceptions, self._numbers = {"print": _write}, {}, itertools.count(1)
        self._ask = _Ask(self._answer)
        hooks = _Python(*(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _HOOKS))
        self._dll.rushlight_start(hooks, self._ask)

    def call(self, function, **request):
        """Calls a function of the library.

        Raises:
            RushlightError, ValueError, ...: as the library reports
        """
        answer = json.loads(self._dll.rushlight_call(function.encode(), json.dumps(request).encode()))
        if "ok" in answer:
            return answer["ok"]
        error = answer["error"]
        if "exception" in error:
            raise self._exceptions.pop(error["exception"])
        if error["type"] == "RushlightError":
            raise RushlightError(*(error[name] for name in ("code", "message", "op", "source", "baked")))
        raise _ERRORS[error["type"]](error["message"])

    def release(self, storage):
        """Lets go of the memory of a result's storage."""
        self._dll.rushlight_release(storage)

    def _answer(self, what, request):
        try:
            answer = {"ok": self._answers[what.decode()](json.loads(request))}
        except BaseException as e:  # it is raised again after the call
            number = next(self._numbers)
            self._exceptions[number] = e
            answer = {"error": {"message": str(e), "exception": number}}
        self._dll.rushlight_answer(json.dumps(answer).encode())


def _write(text):
    sys.stdout.write(text)


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


def call(function, **request):
    """Calls a function of the library, as _Library.call does."""
    return library().call(function, **request)
