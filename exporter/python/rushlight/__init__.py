"""Rushlight: PyTorch models in browsers and Node.

    report = rushlight.export(module, (x,), "model.rush")
    print(report)
    session = rushlight.load("model.rush")
    y = session(x)
    net = rushlight.lower(module, (x,))  # an nn.Module that runs natively

Tensors are on the CPU. Their dtype is float16, float32, float64, bfloat16, int8 to int64, uint8, bool, complex64 or complex128.
Operators give the results of PyTorch's operators with the same names. If the runtime lacks an operator, export() refuses the model
and names the operator and its Python lines.

Without PyTorch the package runs files (load, Session, describe), and its tensors are NumPy arrays.
"""

from __future__ import annotations

import os
import pkgutil
from typing import TYPE_CHECKING

__path__ = pkgutil.extend_path(__path__, __name__)  # the built library may stand in another folder

from . import _build  # noqa: E402
from .base import native as _native  # noqa: E402
from .base.errors import RushlightError  # noqa: E402
from .base.printable import printable as _printable  # noqa: E402
from .session import Session, load  # noqa: E402

if TYPE_CHECKING:
    from .decomposition import register_decomposition
    from .diff import Diff, diff
    from .export import export
    from .export_text import export_text
    from .lower import Lowered, load_library, lower
    from .pipeline import pipeline
    from .report import Report

    __version__: str

_native.use(_build.native_library)

# The order is that of the reference page: the most important names come first.
__all__ = ["export", "export_text", "pipeline", "load", "Session", "Report", "describe", "diff", "Diff", "lower", "Lowered", "load_library",
           "register_decomposition", "RushlightError"]


def describe(path: str | os.PathLike[str], json: bool = False) -> str:
    """Describes a .rush file: methods with inputs and outputs, operators, sizes, attributes and the program. The weights are not read.

    Args:
        path (str or PathLike): path of the file
        json (bool): return JSON

    Returns:
        str: text, or JSON

    Raises:
        RushlightError: the file is damaged, or cannot be read
    """
    text = _native.call("describe", path=os.fspath(path), json=bool(json))
    return text if json else "\n".join(map(_printable, text.split("\n")))


def _lazy_attribute(name):
    """Returns an attribute that is found on its first use."""
    if name == "__version__":  # asked of the runtime, which may have to be compiled first
        return _native.call("version")
    if name in __all__:
        _import_what_needs_torch(name)
        return globals()[name]
    raise AttributeError(f"module 'rushlight' has no attribute {name!r}")


if not TYPE_CHECKING:  # a checker would take every name for an attribute
    __getattr__ = _lazy_attribute


def _import_what_needs_torch(name):
    """Adds the functions that need PyTorch to this module. A module and its function have one name, so that all come together."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"rushlight.{name} needs PyTorch, which is not installed here: pip install torch", name="torch") from None
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 6):
        raise ImportError(f"rushlight.{name} needs PyTorch 2.6 or later, and this is {torch.__version__}: "
                          "pip install --upgrade torch", name="torch")

    try:
        from .decomposition import register_decomposition
        from .diff import Diff, diff
        from .export import export
        from .export_text import export_text
        from .lower import Lowered, load_library, lower
        from .pipeline import pipeline
        from .report import Report
    except (AttributeError, ImportError) as error:
        raise ImportError(f"rushlight.{name} does not work with PyTorch {torch.__version__} ({error}): "
                          "it is tested with PyTorch 2.6 to 2.15", name="torch") from error

    of_torch = register_decomposition, Diff, diff, export, export_text, Lowered, load_library, lower, pipeline, Report
    globals().update({found.__name__: found for found in of_torch})


def __dir__():
    return sorted({*globals(), *__all__})
