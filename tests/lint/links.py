"""Checks that each relative link of a Markdown file leads to a file of the repository, and that each source file that a page
for developers names, such as `exec/run.c`, exists."""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
GUIDE = TOP / "web" / "guide"
NAMED = re.compile(r"`([\w./-]+\.(?:c|h|cpp|py|js|mjs|def|sh|cmake))`")
PLACEHOLDER = re.compile(r"[A-Z]{2,}")  # placeholder for a family, as in rows_FAMILY.py
ELSEWHERE = {"xnnpack/gemm.h"}  # headers of XNNPACK


def target_of(file, link):
    """Returns the path that a link of `file` leads to, or None for URLs and for anchors in the same page."""
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:", path) or (file.is_relative_to(TOP / "web") and path.endswith(".html")):
        return None
    return pathlib.Path(os.path.normpath(file.parent / path))


def missing(file, line, tracked):
    """Returns source files that a line names and that do not exist. Pages for users are left out, because users' files have any names."""
    if file.is_relative_to(GUIDE) or file.name == "CHANGELOG.md":
        return []
    names = [n for n in NAMED.findall(line) if not PLACEHOLDER.search(n) and n not in ELSEWHERE]
    ends = [re.sub(r"^(\.\./)+|^/", "", name) for name in names]
    return [name for name, end in zip(names, ends) if not any(f"/{path}".endswith(f"/{end}") for path in tracked)]


def faults():
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, check=True, capture_output=True, text=True).stdout.splitlines()
    tracked = [path for path in listed if (TOP / path).exists()]
    for file in (TOP / path for path in tracked if path.endswith(".md")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for link in LINK.findall(line):
                target = target_of(file, link)
                if target and not target.exists():
                    yield f"{file.relative_to(TOP)}:{number}: {link} leads to no file"
            for name in missing(file, line, tracked):
                yield f"{file.relative_to(TOP)}:{number}: there is no file {name}"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "every link and every file name in the Markdown files leads to a file")
    sys.exit(bool(found))
