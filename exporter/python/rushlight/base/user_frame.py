"""The place in the caller's code that a message should name."""

import os
import traceback
import warnings

import torch

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_INSIDE = (os.path.dirname(torch.__file__) + os.sep, _PACKAGE)


def user_frame():
    """Returns the innermost frame outside torch and this package, as a traceback.FrameSummary; None if there is none."""
    return next((f for f in reversed(traceback.extract_stack()) if not f.filename.startswith(_INSIDE)), None)


def warn_user(message, category):
    """Issues a warning at the line of the caller's code."""
    frame = user_frame()
    if frame:
        warnings.warn_explicit(message, category, frame.filename, frame.lineno)
    else:
        warnings.warn(message, category, stacklevel=2)
