"""Replaces the compiled module _C if there is none, and compiles it on first use.

Python imports a compiled module in the same folder, or earlier on the path, instead of this file.
"""

import importlib.util
import sys

_real = None


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    global _real
    if _real is None:
        from . import _build

        spec = importlib.util.spec_from_file_location("rushlight._C", _build.extension_path())
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _real = sys.modules["rushlight._C"] = module
    return getattr(_real, name)
