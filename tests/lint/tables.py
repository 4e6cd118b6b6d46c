"""Checks that no cell of a table in a Markdown file has more than 80 characters. The address of a link does not count."""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LIMIT = 80
EXEMPT = {"docs/status/MODELS.md", "docs/status/OPERATORS.md"}  # tools make them, with lists of names and messages of others
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def cells(line):
    """Returns the text of each cell as a reader sees it."""
    return [LINK.sub(r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def faults(text):
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        inside ^= line.startswith("```")
        if line.startswith("|") and not inside:
            yield from ((number, len(cell)) for cell in cells(line) if len(cell) > LIMIT)


def main():
    long = "x" * (LIMIT + 1)
    assert list(faults(f"| a | {long} |\n```\n| {long} |\n```\n| [a]({long}) | b \\| c |")) == [(1, LIMIT + 1)]
    files = set(subprocess.check_output(["git", "ls-files", "*.md"], cwd=TOP, text=True).split()) - EXEMPT
    found = [f"{f}:{n}: a cell of {size} characters, at most {LIMIT}" for f in sorted(files) for n, size in faults((TOP / f).read_text())]
    print("\n".join(found) or f"no cell of a table has more than {LIMIT} characters")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
