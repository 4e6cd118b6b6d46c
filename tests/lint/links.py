"""Checks that each relative link of a Markdown file leads to a file of the repository."""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
GUIDE = TOP / "web" / "guide"  # VitePress: links begin at the guide's root and leave out ".md"
INDEX = TOP / "web" / "c_index.md"  # a page of build/docs/c


def served(file, path):
    """Whether a page that ./dev docs makes links to a page beside the documentation."""
    return file == INDEX or (file.is_relative_to(GUIDE) and path.startswith("../../"))


def target_of(file, link):
    """The path that a link of `file` leads to; None for addresses, and for places in the same page."""
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:", path) or (file.is_relative_to(TOP / "web") and path.endswith(".html")):
        return None
    if file.is_relative_to(GUIDE) and path.startswith("/"):
        return GUIDE / (path[1:] + ".md" if path != "/" else "index.md")
    folder = TOP / "build" / "docs" / ("c" if file == INDEX else "guide") if served(file, path) else file.parent
    return pathlib.Path(os.path.normpath(folder / path))


def faults():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=TOP, check=True, capture_output=True, text=True).stdout
    for file in (TOP / name for name in listed.splitlines()):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for link in LINK.findall(line):
                target = target_of(file, link)
                if target and not target.exists():
                    yield f"{file.relative_to(TOP)}:{number}: {link} leads to no file"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "every link of the Markdown files leads to a file")
    sys.exit(bool(found))
