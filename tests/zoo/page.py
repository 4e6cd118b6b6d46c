"""Writes MODELS.md, which lists each model's way of export, difference from PyTorch, time and memory."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "status" / "MODELS.md"
HEAD = """# Whole zoos of models

`./dev zoo` makes this page ([how it works](../../tests/zoo/README.md)). Each model has random weights, and norms with sensible
statistics. It is exported, runs natively and in Node (wasm SIMD), and is compared with PyTorch 2.6. It passes if both answers
are right by the exporter's rule: close to PyTorch's, or as near to float64's answer as PyTorch's is
([verdict.h](../../wasm/include/rushlight/verdict.h)).

| Column | Meaning |
|---|---|
| way | traced; if tracing fails, torch.export or scripted; detectors are scripted |
| operators | instructions of the program |
| export, s | seconds, with PyTorch's own trace and the comparison |
| max abs | the largest difference from PyTorch's answer |
| ms | natively, in Node, in PyTorch: one thread, the minimum of up to twenty runs |
| MB | peak memory of the runtime in Node, with weights |

- Brackets behind *max abs* have two distances to float64's answer: Rushlight's and PyTorch's. Their unit is the answer's
  greatest element. They are shown if the first is above 1e-5.
- The time in Node includes the comparison of the answers. Inputs are the smallest that a model takes, and the machine had
  other work. Do not compare models or machines by these times.
- Models that PyTorch can neither trace, export nor script are listed and not counted. The same holds for models that the
  settings of this page cannot create.
"""
STATES = ("passed", "failed", "refused", "unmade")


def clean(words):
    """Formats text as a cell of a table, without addresses and local paths."""
    return re.sub(r"(?<![\w.])/\S*/", "", re.sub(r"\S*https?:\S*", "..", words)).replace("|", "\\|").replace("\n", " ")[:200]


def number(value):
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def row(result):
    r = result
    own = f" ({r['own']:.1g}, {r['pytorch']:.1g})" if r["own"] > 1e-5 else ""
    return (f"| {r['name']} | {r['way']} | {r['ops']} | {r['seconds']:.1f} | {r['max_abs']:.1g}{own} | "
            f"{number(r['ms'])}, {number(r['node_ms'])}, {number(r['torch_ms'])} | {number(r['peak'] / 1e6)} |")


def part(zoo, module, results):
    """Returns a zoo's section."""
    known = [results[name] for name in module.names() if name in results]
    lines = ["", f"## {zoo}", ""]
    left = len(module.names()) - len(known)
    if left:
        lines += [f"{left} models were not run for this page.", ""]
    bad = [r for r in known if r["state"] != "passed"]
    if bad:
        said = {"failed": "Rushlight fails", "refused": "PyTorch refuses", "unmade": "not created"}
        lines += ["| model | state | reason |", "|---|---|---|"]
        lines += [f"| {r['name']} | {said[r['state']]} | {clean(r['why'])} |" for r in sorted(bad, key=lambda r: STATES.index(r["state"]))] + [""]
    other = [r for r in known if r["state"] == "passed" and r["whys"]]
    if other:
        lines += ["| passes in another way only | obstacle in the first way |", "|---|---|"]
        lines += [f"| {r['name']}: {r['way']} | {clean('; '.join(f'{way}: {why}' for way, why in r['whys'].items()))} |" for r in other] + [""]
    kinds = {}
    for r in known:
        if r["state"] == "passed":
            kinds.setdefault(module.kind(r["name"]), []).append(r)
    lines += ["| model | way | operators | export, s | max abs | ms | MB |", "|---|---|---|---|---|---|---|"]
    for kind, members in sorted(kinds.items()):
        lines += ([f"| **{kind}** |" + " |" * 6] if len(members) > 1 else []) + [row(r) for r in members]
    return lines


def write(modules, results):
    """Writes the page. `modules` is {zoo: its module}, and `results` is {zoo: {name: result}}."""
    lines = [HEAD, "| zoo | models | pass | Rushlight fails | PyTorch refuses | not created |", "|---|---|---|---|---|---|"]
    for zoo, module in modules.items():
        n = {state: sum(r["state"] == state for name, r in results[zoo].items() if name in module.names()) for state in STATES}
        tried = n["passed"] + n["failed"]
        lines.append(f"| {zoo} | {tried} | {n['passed']} ({100 * n['passed'] / max(tried, 1):.1f} %) | {n['failed']} | {n['refused']} | {n['unmade']} |")
    for zoo, module in modules.items():
        lines += part(zoo, module, results[zoo])
    PAGE.write_text("\n".join(lines) + "\n")
