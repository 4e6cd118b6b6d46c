"""Writes OPERATORS.md, which lists the implementation of each operator and its share of passed samples in PyTorch's table."""

import functools
import re
from pathlib import Path

import torch

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "status" / "OPERATORS.md"
HEAD = """# Operators, as PyTorch's own test table sees them

`./dev test opinfo` makes this page ([how it works](../../tests/opinfo/README.md)). An entry is a row of
`torch.testing._internal.common_methods_invocations.op_db`. It runs in each dtype that PyTorch supports on the CPU, with each
sample of the table: plain, with strided inputs, in place and with `out=`. Each case runs natively and in Node, and is
compared with PyTorch 2.6. Cases that PyTorch refuses or cannot trace are not counted. Gradients and sparse layouts are out of
scope.

An entry is *complete* in a dtype if all of its cases pass. *Made as* says whether the operator is a C function or a program
of other operators, or is dropped because it returns its argument. The exporter splits some `out=`, in-place and `_copy`
operators into another operator and a copy. Their rows name the file of that operator.
"""

# The reason for each open entry. In all of them, Rushlight's answer is closer to float64 than PyTorch's.
LEFT = {
    "grid_sampler_2d": "PyTorch computes coordinates in halves and reads other pixels",
    "matrix_exp": "PyTorch gives NaN for halves, although the answer is finite",
    "nn.functional.cross_entropy": "PyTorch rounds log(sum(exp)) to bfloat16 before the subtraction",
}
LEFT["nn.functional.grid_sample"] = LEFT["grid_sampler_2d"]

MISSING = ("missing", "")  # the kind and the file of an operator that nothing makes


def kernels():
    """Reads {schema name: file of its function} from the runtime's table."""
    found = {}
    for table in sorted((TOP / "wasm/src/ops").glob("*/*.def")):
        file = None
        for line in table.read_text().splitlines():
            file = (re.findall(r"/\* (\w+\.c)", line) or [file])[0]
            for schema in re.findall(r'"((?:aten|prim|rush)::[\w.]+)\(', line):
                found[schema] = f"{table.parent.name}/{file}"
                if "RUSH_OP_INPLACE" in line:
                    name, dot, variant = schema.partition(".")
                    found[f"{name}_{dot}{variant}"] = found[schema]
    return found


def programs():
    """Returns {name: file} for the operators that the exporter decomposes."""
    folder = TOP / "exporter/python/rushlight/front/torchscript/operators"
    return {name: file.name for file in sorted(folder.glob("*.py")) for name in re.findall(r"^def (\w+)\(", file.read_text(), re.M)}


def dropped():
    """Returns the operators that the exporter drops because they return their argument."""
    rows = (TOP / "exporter/src/export/pipeline.cpp").read_text()
    return set(re.findall(r'"(aten::\w+)"', rows))


def tables():
    return kernels(), programs(), dropped()


@functools.cache
def schemas():
    """Returns {name: [schemas of its overloads]} of PyTorch's operators."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        found.setdefault(schema.name, []).append(schema)
    return found


def full(schema):
    return schema.name + (f".{schema.overload_name}" if schema.overload_name else "")


def read_arguments(schema, without_options=False):
    """Returns the names and types of the arguments that an operator reads, if told so without the options that out= decides."""
    options = ("dtype", "layout", "device", "pin_memory") if without_options else ()
    return [(a.name, str(a.type)) for a in schema.arguments if not a.is_out and a.name not in options]


def becomes(overload):
    """Yields the operators that the exporter may put in place of an overload, as split_out.cpp and canonicalize.cpp do."""
    name, _, variant = overload.partition(".")
    mine = next((s for s in schemas().get(name, ()) if s.overload_name == variant), None)
    if mine is None or any("Generator" in str(a.type) for a in mine.arguments):
        return
    writes = any(a.is_out for a in mine.arguments)
    base = name if writes else name.removesuffix("_copy") if name.endswith("_copy") else name.removesuffix("_")
    for other in schemas().get(base, ()):
        plain = not any(a.is_out for a in other.arguments) and (writes or base != name)
        if plain and read_arguments(other, writes) == read_arguments(mine, writes):
            yield full(other)


def made_of(overload, tables):
    """Returns (kind, file) for an operator of PyTorch's graph."""
    c, py, dropped = tables
    name, _, variant = overload.removeprefix("aten::").partition(".")
    for program in (f"{name}__{variant}", name):
        if program in py:
            return "program", py[program]
    if overload in c:
        return "C", c[overload]
    if overload in dropped:
        return "dropped", ""
    kinds = (made_of(op, tables) for op in becomes(overload))
    return next((kind for kind in kinds if kind != MISSING), MISSING)


def own(entry, overloads):
    """Returns the operators in an entry's graphs that belong to the entry itself, without those of its Python wrapper."""
    word = entry.split(".")[2 if entry.startswith("nn.functional.") else 0].strip("_") if "." in entry else entry.strip("_")
    same = [o for o in overloads if word and word in o]
    return (same or overloads)[:6]


def joined(items):
    return ", ".join(dict.fromkeys(i for i in items if i))


def implementation(overloads, found):
    """Returns the columns "made as" and "file"."""
    kinds = [made_of(o, found) for o in overloads]
    return joined(kind for kind, _ in kinds), joined(file for _, file in kinds)


def row(entry, results, found):
    overloads = list(dict.fromkeys(o for r in results for o in r["overloads"]))
    mine = own(entry, overloads)
    whole = [r["dtype"] for r in results if not r["failed"]]
    passed, total = sum(r["passed"] for r in results), sum(r["passed"] + r["failed"] for r in results)
    shown = joined(f"`{o.removeprefix('aten::')}`" for o in mine)
    made_as, files = implementation(mine, found)
    return f"| {entry} | {shown} | {joined(whole)} | {made_as} | {files} | {passed} of {total} |"


def renewed(text):
    """Returns the page with the implementation as the sources have it now, and the results as they are."""
    found = tables()
    start = text.index("## All entries")
    lines = text[start:].splitlines()
    for i, line in enumerate(lines):
        cells = line.split(" | ")
        if len(cells) == 6 and cells[1] != "operators of ATen":
            names = [f"aten::{name}" for name in re.findall(r"`([^`]+)`", cells[1])]
            lines[i] = " | ".join([*cells[:3], *implementation(names, found), cells[5]])
    return HEAD + text[text.index("\n| dtype |"):start] + "\n".join(lines) + "\n"


def why(results):
    for r in results:
        for what, words in r["whys"]:
            words = words.removeprefix("test vector 0: ")
            missing = re.search(r"(?:aten|prim)::[\w.]+", words) if "the runtime lacks" in words else None
            text = f"lacks `{missing.group()}`" if missing else words
            if "expected nan" in text:  # PyTorch's distance counts finite elements only
                text = re.sub(r"PyTorch is off by [^,]*, this by", "this is off by", text)
            text = re.sub(r"(?<![\w.])/\S*/", "", text).replace("|", "\\|").replace("\n", " ")
            return f"{r['dtype']}, {what}: {text[:160]}"
    return ""


def write(results, left_out):
    by_entry, by_dtype = {}, {}
    for r in results:
        by_entry.setdefault(r["entry"], []).append(r)
        by_dtype.setdefault(r["dtype"], []).append(r)
    found = tables()
    lines = [HEAD, "| dtype | entries | complete | partial | failed | cases passed |", "|---|---|---|---|---|---|"]
    for name, rows in [*sorted(by_dtype.items()), ("**all**", None)]:
        if rows is None:
            rows = [{"passed": sum(r["passed"] for r in rs), "failed": sum(r["failed"] for r in rs)} for rs in by_entry.values()]
        whole = sum(not r["failed"] for r in rows)
        none = sum(r["failed"] > 0 and not r["passed"] for r in rows)
        passed, total = sum(r["passed"] for r in rows), sum(r["passed"] + r["failed"] for r in rows)
        lines.append(f"| {name} | {len(rows)} | {whole} ({100 * whole / len(rows):.1f} %) | {len(rows) - whole - none} | {none} | {passed} of {total} |")
    if left_out:
        lines += ["", f"Not run for this page: {', '.join(left_out)}."]
    lines += ["", "## Open differences", "", "| entry | incomplete dtypes | reason | first case |", "|---|---|---|---|"]
    for entry, rs in sorted(by_entry.items()):
        bad = [r for r in rs if r["failed"]]
        if bad:
            lines.append(f"| {entry} | {', '.join(r['dtype'] for r in bad)} | {LEFT.get(entry, '')} | {why(bad)} |")
    lines += ["", "## All entries", "", "| entry | operators of ATen | complete in | made as | file | cases passed |", "|---|---|---|---|---|---|"]
    lines += [row(entry, rs, found) for entry, rs in sorted(by_entry.items())]
    PAGE.write_text("\n".join(lines) + "\n")
