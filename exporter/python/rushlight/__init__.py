"""Rushlight: PyTorch models in browsers and Node.

    report = rushlight.export(module, (x,), "model.rush")
    print(report)
    session = rushlight.load("model.rush")
    y = session(x)
    net = rushlight.lower(module, (x,))  # an nn.Module that runs natively

Tensors are on the CPU. Their dtype is float16, float32, float64, bfloat16, int8 to int64, uint8, bool, complex64 or complex128.
Operators give the results of PyTorch's operators with the same names. If the runtime lacks an operator, export() refuses the model
and names the operator and its Python lines.
"""

import os
import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)  # the built _C may stand in another folder

import torch  # noqa: E402,F401  (before _C, which links against it)

from . import _build  # noqa: E402

_build.require_this_torch(__path__)

from . import _C  # noqa: E402
from .base.errors import RushlightError  # noqa: E402
from .base.printable import printable as _printable  # noqa: E402
from .decomposition import register_decomposition  # noqa: E402
from .diff import Diff, diff  # noqa: E402
from .export import export  # noqa: E402
from .lower import Lowered, load_library, lower  # noqa: E402
from .report import Report  # noqa: E402
from .session import Session, load  # noqa: E402

# The order is that of the reference page: the most important names come first.
__all__ = ["export", "load", "Session", "Report", "describe", "diff", "Diff", "lower", "Lowered", "load_library",
           "register_decomposition", "RushlightError"]


def describe(path, json=False):
    """Describes a .rush file: methods with inputs and outputs, operators, sizes, attributes and the program. The weights are not read.

    Args:
        path (str or PathLike): path of the file
        json (bool): return JSON

    Returns:
        str: text, or JSON

    Raises:
        RushlightError: the file is damaged, or cannot be read
    """
    text = _C.describe(os.fspath(path), json)
    return text if json else "\n".join(map(_printable, text.split("\n")))


def __getattr__(name):
    if name == "__version__":  # asked of the runtime, which may have to be compiled first
        return _C.version()
    raise AttributeError(f"module 'rushlight' has no attribute {name!r}")
