"""The command `rushlight` of an installed package: the tool, in a process that has loaded Python's own libtorch."""

import signal
import sys

from . import _C


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing of it is Python, which would wait for its turn
    sys.exit(_C.tool(["rushlight", *sys.argv[1:]]))
