"""embed_programs.py OUT.cpp FILE.py...: writes the functions of these files as C++ rows {name, source}, sorted by name."""

import ast
import pathlib
import sys


def functions(path):
    """Yields (name, place, source) for each function. Refuses other statements."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text, path.name).body:
        if not isinstance(node, ast.FunctionDef):
            sys.exit(f"{path}:{node.lineno}: only functions can stand here")
        yield node.name, f"{path.name}:{node.lineno}", "".join(lines[node.lineno - 1:node.end_lineno])


def main(out, *files):
    rows = {}
    for file in files:
        for name, place, source in functions(pathlib.Path(file)):
            if name in rows:
                sys.exit(f"{place}: {name} stands in {rows[name][0]}, too")
            rows[name] = place, source
    body = "".join(f'    {{"{name}", R"PY(# {place}\n{source})PY"}},\n' for name, (place, source) in sorted(rows.items()))
    pathlib.Path(out).write_text(
        '#include "front/operator_programs.h"\n\nnamespace rush {\n\n'
        f"const OperatorProgram kOperatorPrograms[] = {{\n{body}}};\n"
        f"const size_t kOperatorProgramCount = {len(rows)};\n\n}}  // namespace rush\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
