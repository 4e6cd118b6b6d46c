"""Checks imports in the four source trees against the table in floors.txt, and that no files import each other in a circle.

A header and the source file of its name count as one file. Imports inside functions, and JavaScript's `import()`, count too.
"""

import ast
import fnmatch
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|('(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`)", re.S)


def read_floors(text):
    """Reads {tree: ({folder: allowed folders}, {pattern: allowed folders of the files that match})} from floors.txt."""
    trees, floors, files = {}, None, None
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        if line.startswith("["):
            floors, files = trees.setdefault(line.strip("[]"), ({}, {}))
        elif ":" in line:
            pattern, _, allowed = line.partition(":")
            files[pattern] = allowed.split()
        else:
            folder, *allowed = line.split()
            floors[folder] = allowed
    return trees


def floor_of(floors, folder):
    """Returns the row of floors.txt for a folder: its own, or that of the closest parent, or None."""
    folder = folder or "."
    while folder not in floors and "/" in folder:
        folder = folder.rpartition("/")[0]
    return folder if folder in floors else None


# Each of these yields (line number, imported file without its suffix, relative to the tree) for each import of a file. If the table
# names a folder outside the tree, an import from there yields the folder, followed by "/".

def c_imports(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
        if not include:
            continue
        quote, path = include.groups()
        if path.startswith(("xnnpack/", "xnnpack.h")):
            yield number, "xnnpack/"
        elif quote == '"' and not path.startswith("rushlight/"):
            yield number, path.rpartition(".")[0]


def js_imports(name, text):
    code = COMMENTS.sub(lambda m: m[1] or "\n" * m[0].count("\n"), text)
    for m in re.finditer(r"""(?:\bfrom|\bimport|\bimport\(|new URL\()\s*['"](\.{1,2}/[^'"]+)\.js['"]""", code):
        target = pathlib.PurePosixPath(name).parent.joinpath(m[1])
        yield code.count("\n", 0, m.start()) + 1, _normal(target)


def python_imports(name, text):
    package = name.split("/")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "rushlight"):
            base = package[:len(package) + 1 - node.level] if node.level else []
            module = base + (node.module or "").split(".")[0 if node.level else 1:]
            module = [part for part in module if part]
            yield from ((node.lineno, "/".join([*module, alias.name])) for alias in node.names)
            if module:
                yield node.lineno, "/".join(module)


def _normal(path):
    parts = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


LANGUAGES = {".c": c_imports, ".h": c_imports, ".def": c_imports, ".cpp": c_imports, ".js": js_imports, ".py": python_imports}


def edges(files):
    """Returns (file, line, imported file or folder) for the imports in {path below the tree: text} that the tree contains."""
    known = {path.rpartition(".")[0] for path in files}
    for path, text in sorted(files.items()):
        for line, to in LANGUAGES["." + path.rpartition(".")[2]](path, text):
            to = to if to.endswith("/") or to in known else f"{to}/__init__"
            if to.endswith("/") or to in known:
                yield path, line, to


def back_arrows(files, imports, floors, exceptions):
    """Returns a message for each import that the table does not allow, and for each folder that it does not contain."""
    for folder in sorted({path.rpartition("/")[0] for path in files}):
        if not floor_of(floors, folder):
            yield f"{folder or '.'}: floors.txt has no row for this folder"
    for path, line, to in imports:
        own = floor_of(floors, path.rpartition("/")[0])
        wanted = to[:-1] if to.endswith("/") else floor_of(floors, to.rpartition("/")[0])
        allowed = [own, *floors.get(own, ())]
        for pattern, more in exceptions.items():
            if fnmatch.fnmatch(path, pattern):
                allowed += more
        if wanted and own and wanted not in allowed:
            yield f"{path}:{line}: {own} must not import {wanted}"


def circles(graph):
    """Finds the strongly connected components of {node: nodes} with more than one node, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for to in graph[node]:
            if to not in index:
                visit(to)
            low[node] = min(low[node], low[to] if to in stack else low[node])
        if low[node] == index[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return [component for component in found if len(component) > 1]


def file_circles(files, imports):
    graph = {path.rpartition(".")[0]: set() for path in files}
    for path, _, to in imports:
        if not to.endswith("/") and to != path.rpartition(".")[0]:
            graph[path.rpartition(".")[0]].add(to)
    return [f"{c[0]} and others import each other in a circle: {', '.join(c)}" for c in circles(graph)]


def faults(files, floors, exceptions):
    graph = {folder: [to for to in allowed if to in floors] for folder, allowed in floors.items()}
    yield from (f"floors.txt has a circle: {', '.join(c)}" for c in circles(graph))
    imports = list(edges(files))
    yield from back_arrows(files, imports, floors, exceptions)
    yield from file_circles(files, imports)


# Each of these trees has a fault. They show that the check works if it finds no other fault.
FAULTY = [
    ({"a/x.c": '#include "b/y.h"\n', "b/y.h": ""}, "a/x.c:1: a must not import b"),
    ({"a/x.c": '#include "xnnpack/config.h"\n', "b/y.h": ""}, "a/x.c:1: a must not import xnnpack"),
    ({"b/x.h": '#include "b/y.h"\n', "b/y.c": '#include "b/x.h"\n', "b/y.h": ""}, "b/x and others import each other in a circle: b/x, b/y"),
    ({"a/x.js": "const m = await import('../b/y.js');\n", "b/y.js": ""}, "a/x.js:1: a must not import b"),
    ({"a/x.js": "/* import '../b/y.js' */\n\nimport { y } from '../b/y.js';\n", "b/y.js": ""}, "a/x.js:3: a must not import b"),
    ({"a/x.py": "def f():\n    from rushlight.b import y\n", "b/y.py": ""}, "a/x.py:2: a must not import b"),
    ({"a/x.py": "from ..b import y\n", "b/__init__.py": ""}, "a/x.py:1: a must not import b"),
    ({"c/x.py": ""}, "c: floors.txt has no row"),
]


def check_itself():
    for files, fault in FAULTY:
        assert any(fault in f for f in faults(files, {"a": [], "b": ["a"]}, {})), fault
    assert list(faults({"b/x.js": "import '../a/y.js';\n", "a/y.js": ""}, {"a": [], "b": ["a"]}, {})) == []


def main():
    check_itself()
    sys.setrecursionlimit(10_000)
    found = []
    for tree, (floors, exceptions) in read_floors((TOP / "tests/lint/floors.txt").read_text()).items():
        root = TOP / tree
        files = {p.relative_to(root).as_posix(): p.read_text() for p in root.rglob("*") if p.suffix in LANGUAGES and "/." not in str(p)}
        found += [f"{tree}/{fault}" for fault in faults(files, floors, exceptions)]
    print("\n".join(found) or "each folder imports only what is below it, and no files form a circle")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
