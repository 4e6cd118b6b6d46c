"""Prints the requirements of a file that a folder of wheels lacks for one version of Python, in the form of the file.

    python3 tests/wheels/missing.py REQUIREMENTS FOLDER PYTHON

A wheel counts if its version of Python fits and its SHA-256 is one of the requirement's.
"""

import hashlib
import pathlib
import re
import sys


def name_of(text):
    return re.sub(r"[-_.]+", "-", text).lower()


def serves(wheel, tag):
    """Returns whether a wheel is for the Python with this tag, such as cp313, or for every Python."""
    pythons = wheel.stem.split("-")[-3].split(".")
    return tag in pythons or "py3" in pythons


def is_there(requirement, wheels):
    name, version = re.match(r"([\w.-]+)==([^\s\\]+)", requirement).groups()
    hashes = set(re.findall(r"--hash=sha256:(\w+)", requirement))
    for wheel in wheels:
        if (name_of(wheel.name.split("-")[0]), wheel.name.split("-")[1]) == (name_of(name), version):
            with open(wheel, "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() in hashes:
                    return True
    return False


def main(path, folder, python):
    tag = f"cp{python.replace('.', '')}"
    wheels = [wheel for wheel in sorted(pathlib.Path(folder).glob("*.whl")) if serves(wheel, tag)]
    requirements = re.findall(r"^[^#\s].*(?:\n\s+--hash.*)*", pathlib.Path(path).read_text(), re.M)
    for requirement in requirements:
        if not is_there(requirement, wheels):
            print(requirement)


if __name__ == "__main__":
    main(*sys.argv[1:])
