"""The command `rushlight`, also `python -m rushlight`."""

import signal
import sys

from .base import native


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would handle Ctrl-C only after the tool has ended
    arguments = ["rushlight", *sys.argv[1:]]
    if _needs_torch(arguments):
        from . import _C

        try:
            tool = _C.tool
        except RuntimeError as e:  # The exporter is not compiled here, and cannot be.
            sys.exit(f"rushlight: {e}")
        sys.exit(tool(arguments))
    sys.exit(native.call("tool", arguments=arguments))


def _needs_torch(arguments):
    """Whether PyTorch runs for this command line. Without PyTorch, the tool refuses it in words."""
    needs = arguments[1:2] == ["export"] or any(argument.startswith("--torch") for argument in arguments)
    return needs and "torch" in sys.modules
