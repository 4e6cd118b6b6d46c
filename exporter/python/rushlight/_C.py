"""Stands in for the compiled module _C where none was built: compiles it when it is first used.

A compiled one in the same folder, or earlier on the path, is imported in its place.
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
