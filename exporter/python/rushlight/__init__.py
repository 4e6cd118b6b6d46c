"""Rushlight: PyTorch models in browsers and Node.

    report = rushlight.export(module, (x,), "model.rush")
    print(report)
    session = rushlight.load("model.rush")
    y = session(x)
"""

import pkgutil

__path__ = pkgutil.extend_path(__path__, __name__)  # the built _C may stand in another folder

import torch  # noqa: E402,F401  (before _C, which links against it)

from . import _C  # noqa: E402
from .errors import RushlightError  # noqa: E402
from .export import Report, export  # noqa: E402
from .session import Session, load  # noqa: E402

__version__ = _C.version()
describe = _C.describe

__all__ = ["Report", "RushlightError", "Session", "describe", "export", "load"]
