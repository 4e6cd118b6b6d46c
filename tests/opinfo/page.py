"""Writes OPERATORS.md, which lists the implementation of each operator and its share of passed samples in PyTorch's table."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "status" / "OPERATORS.md"
HEAD = """# Operators, as PyTorch's own test table sees them

`./dev test opinfo` makes this page ([how it works](../../tests/opinfo/README.md)). An entry is a row of
`torch.testing._internal.common_methods_invocations.op_db`. It runs in each dtype that PyTorch supports on the CPU, with each
sample of the table: plain, with strided inputs, in place and with `out=`. Each case runs natively and in Node, and is
compared with PyTorch 2.6. Cases that PyTorch refuses or cannot trace are not counted. Gradients and sparse layouts are out of
scope.

An entry is *complete* in a dtype if all of its cases pass. *Made as* says whether the operator is a C function or a program
of other operators.
"""

# The reason for each open entry. In all of them, Rushlight's answer is closer to float64 than PyTorch's.
LEFT = {
    "grid_sampler_2d": "PyTorch computes coordinates in halves and reads other pixels",
    "matrix_exp": "PyTorch gives NaN for halves, although the answer is finite",
    "nn.functional.cross_entropy": "PyTorch rounds log(sum(exp)) to bfloat16 before the subtraction",
}
LEFT["nn.functional.grid_sample"] = LEFT["grid_sampler_2d"]


def kernels():
    """Reads {schema name: file of its function} from the runtime's table."""
    found = {}
    for table in sorted((TOP / "wasm/src/ops").glob("*/*.def")):
        file = None
        for line in table.read_text().splitlines():
            file = (re.findall(r"/\* (\w+\.c)", line) or [file])[0]
            for schema in re.findall(r'"((?:aten|prim|rush)::[\w.]+)\(', line):
                found[schema] = f"{table.parent.name}/{file}"
    return found


def programs():
    """Returns {name: file} for the operators that the exporter decomposes."""
    folder = TOP / "exporter/python/rushlight/front/torchscript/operators"
    return {name: file.name for file in sorted(folder.glob("*.py")) for name in re.findall(r"^def (\w+)\(", file.read_text(), re.M)}


def made_of(overload, c, py):
    """Returns (kind, file) for an operator of PyTorch's graph."""
    name, _, variant = overload.partition("::")[2].partition(".")
    out = variant.removesuffix("_out") if variant.endswith("_out") else "" if variant == "out" else variant
    for base in (name, name.removesuffix("_")):
        for v in (variant, out):
            if f"{base}__{v}" in py:
                return "program", py[f"{base}__{v}"]
        if base in py:
            return "program", py[base]
        for v in (variant, out):
            full = f"aten::{base}" + (f".{v}" if v else "")
            if full in c:
                return "C", c[full]
    return "missing", ""


def own(entry, overloads):
    """Returns the operators in an entry's graphs that belong to the entry itself, without those of its Python wrapper."""
    word = entry.split(".")[2 if entry.startswith("nn.functional.") else 0].strip("_") if "." in entry else entry.strip("_")
    same = [o for o in overloads if word and word in o]
    return (same or overloads)[:6]


def row(entry, results, c, py):
    overloads = list(dict.fromkeys(o for r in results for o in r["overloads"]))
    mine = own(entry, overloads)
    kinds = [made_of(o, c, py) for o in mine]
    whole = [r["dtype"] for r in results if not r["failed"]]
    passed, total = sum(r["passed"] for r in results), sum(r["passed"] + r["failed"] for r in results)
    text = lambda items: ", ".join(dict.fromkeys(i for i in items if i))  # noqa: E731
    shown = text(f"`{o.removeprefix('aten::')}`" for o in mine)
    return f"| {entry} | {shown} | {text(whole)} | {text(k for k, _ in kinds)} | {text(f for _, f in kinds)} | {passed} of {total} |"


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
    c, py = kernels(), programs()
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
    lines += [row(entry, rs, c, py) for entry, rs in sorted(by_entry.items())]
    PAGE.write_text("\n".join(lines) + "\n")
