"""The command `rushlight` of an installed package. It runs the tool in a process that has loaded Python's libtorch."""

import signal
import sys

from . import _C


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would handle Ctrl-C only after the tool has ended
    sys.exit(_C.tool(["rushlight", *sys.argv[1:]]))
