"""Checks that lines, functions and files are not too long: lines of C, functions in C, C++ and Python, design notes, READMEs, and
the files of BOUNDS. It also checks that the last line of a text ends with a newline.

Lines of C are those of wasm/, of tests/, and of headers in exporter/src, including comments and tables, which clang-format does not
wrap. No comment may end on a separate line. ESLint has the limits for JavaScript.
"""
import ast
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
C_LINES = ("wasm/*.[ch]", "tests/*.[ch]", "exporter/src/*.h")
C_FUNCTIONS = ("wasm/*.[ch]", "exporter/src/*.cpp", "exporter/src/*.h", "exporter/torch/*.cpp")
PYTHON = ("exporter/python/*.py", "scripts/*.py")
BOUNDS = {"README.md": 110, "exporter/python/rushlight/export.py": 150}
TEXTS = ("*.md", "*.py", "*.c", "*.h", "*.cpp", "*.def", "*.js", "*.mjs", "*.sh", "*.css", "*.html", "*.yml", "*.cmake", "dev", "scripts/*")
README = 60  # the lines of the README of a folder
DESIGN = 85  # the lines of a design note: one page
LONGEST = 40  # lines of a function, from its head to its last brace; of Python without its docstring
TABLE = re.compile(r"typedef\b|struct\b|union\b|enum\b|extern\b|[^(]*\{|.*= \{", re.S)
LIMIT = int(re.search(r"^ColumnLimit: (\d+)$", (TOP / ".clang-format").read_text(), re.M)[1])


def files(*patterns):
    names = subprocess.check_output(["git", "ls-files", *patterns], cwd=TOP, text=True).split()
    return [(name, (TOP / name).read_text()) for name in sorted(set(names)) if (TOP / name).exists()]


def long_lines(lines):
    for number, line in enumerate(lines, 1):
        if len(line) > LIMIT:
            yield number, f"{len(line)} columns, at most {LIMIT}"
        if line.strip() == "*/":
            yield number, "the end of a comment stands alone"


def long_functions(lines):
    """Yields the first line of each function of C or C++ that is too long. A table in a function is not a function."""
    head, start = [], 0
    for number, line in enumerate(lines, 1):
        if start:
            if line == "}" and number - start >= LONGEST and not TABLE.match("\n".join(head)) and not lines[start].endswith("= {"):
                yield start, f"a function of {number - start + 1} lines, at most {LONGEST}"
            if line.startswith("}"):
                head, start = [], 0
        elif not line or line[0] in "#/" or line.endswith((";", "*/")) or line.startswith("namespace"):
            head = []
        else:
            head.append(line)
            start = number - len(head) + 1 if line.endswith("{") else 0


def long_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node, clean=False) or ""
            size = node.end_lineno - node.lineno + 1 - len(doc.splitlines())
            if size > LONGEST:
                yield node.lineno, f"a function of {size} lines, at most {LONGEST}"


def long_files():
    for name, text in files("*README.md", *BOUNDS):
        most, size = BOUNDS.get(name, README), len(text.splitlines())
        if size > most:
            yield f"{name}: {size} lines, at most {most}"
    for name, text in files("docs/design/*.md"):
        if len(text.splitlines()) > DESIGN:
            yield f"{name}: {len(text.splitlines())} lines, at most {DESIGN}: divide the page"


def unended_files():
    for name, text in files(*TEXTS):
        if text and not text.endswith("\n"):
            yield f"{name}: the last line must end with a newline"


def check():
    """Checks the checks."""
    assert [n for n, _ in long_lines(["x" * LIMIT, "x" * (LIMIT + 1), " */", "/* x */"])] == [2, 3]
    body = ["  x;"] * (LONGEST - 3)
    assert not [*long_functions(["void f(int a,", "       int b) {", *body, "}"])]
    assert [n for n, _ in long_functions(["int x;", "", "void f(int a,", "       int b) {", *body, "  x;", "}"])] == [3]
    assert not [*long_functions(["static const int x[] = {", *body, *body, "}"])]
    assert not [*long_functions(["const T &f() {", "  static const T x = {", *body, *body, "}"])]
    assert [*long_functions(["namespace rush {", "void f() {", *body, *body, "}"])]
    short = '  """\n' + "  x\n" * LONGEST + '  """\n' + "  x\n"
    assert not [*long_python(f"def f():\n{short}")] and [*long_python(f"def f():\n{short}" + "  x\n" * LONGEST)]


def main():
    check()
    found = [f"{name}:{n}: {fault}" for name, text in files(*C_LINES) for n, fault in long_lines(text.splitlines())]
    found += [f"{name}:{n}: {fault}" for name, text in files(*C_FUNCTIONS) for n, fault in long_functions(text.splitlines())]
    found += [f"{name}:{n}: {fault}" for name, text in files(*PYTHON) for n, fault in long_python(text)]
    found += long_files()
    found += unended_files()
    print("\n".join(found) or "no line of C, no function, no README and no design note is too long")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
