"""Checks that no line of C in wasm/ and tests/ and of headers in exporter/src exceeds the limit of .clang-format, including
comments and tables, and that no comment ends on a separate line. clang-format does not change either."""
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FILES = ("wasm/*.[ch]", "tests/*.[ch]", "exporter/src/*.h")
EXEMPT = {f"exporter/src/{name}.h" for name in (
    "front/torchscript", "front/torchscript_parts", "ir/from_c10", "python/graph_builder", "python/values", "run/compare", "run/observe",
    "write/storages")}
LIMIT = int(re.search(r"^ColumnLimit: (\d+)$", (TOP / ".clang-format").read_text(), re.M)[1])


def faults(lines):
    for number, line in enumerate(lines, 1):
        if len(line) > LIMIT:
            yield number, f"{len(line)} columns, at most {LIMIT}"
        if line.strip() == "*/":
            yield number, "the end of a comment stands alone"


def main():
    assert [n for n, _ in faults(["x" * LIMIT, "x" * (LIMIT + 1), " */", "/* x */"])] == [2, 3]
    files = set(subprocess.check_output(["git", "ls-files", *FILES], cwd=TOP, text=True).split()) - EXEMPT
    found = [f"{f}:{n}: {fault}" for f in sorted(files) for n, fault in faults((TOP / f).read_text().splitlines())]
    print("\n".join(found) or f"no line of C has more than {LIMIT} columns")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
