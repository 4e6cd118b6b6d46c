"""Compares the tag in the name of a wheel with the tag that `auditwheel show` gives, which it reads.

    auditwheel show WHEEL | python3 tests/wheels/tag.py NAME
"""

import re
import sys


def glibc(text):
    """Returns the version of glibc in the first manylinux tag of a text."""
    found = re.search(r"manylinux_(\d+)_(\d+)_", text)
    return found and (int(found[1]), int(found[2]))


name, shown = sys.argv[1], sys.stdin.read()
stated = glibc(name)
needed = glibc(shown.split("consistent with", 1)[-1])
sys.exit(0 if stated and needed and needed <= stated else f"{name} states {stated}, but its library needs glibc {needed}")
