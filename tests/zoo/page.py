"""MODELS.md: which models, the way they came in, how far from PyTorch, how fast, how large."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "status" / "MODELS.md"
HEAD = """# Whole zoos of models

Made by `./dev zoo` ([how](../../tests/zoo/README.md)): each model with random weights and norms of sensible statistics, exported, run
natively and in Node (wasm SIMD), compared with PyTorch 2.6. It passes where both answers are right as the exporter has it: close
to PyTorch's, or as near as PyTorch's to what the program gives in float64
([verdict.h](../../wasm/include/rushlight/verdict.h)).

- **way**: traced; where that does not go, by torch.export or scripted. Detectors are scripted.
- **operators**: instructions of the program. **export**: seconds, with PyTorch's own trace, and the comparison.
- **max abs**: the greatest difference to PyTorch's answer; behind it, in brackets, in units of the answer's greatest element
  Rushlight's and PyTorch's distances to float64's, where the first is above 1e-5.
- **ms**: natively, in Node, PyTorch: all on one thread, the least of up to twenty runs; in Node with the comparison of the answers. Inputs
  are the smallest that the model takes, and the machine had other work: do not compare models, or machines, by these.
- **MB**: the most that the runtime held in Node, weights with it.

What PyTorch itself can neither trace nor export nor script, and what this page's settings could not make, is listed and not
counted.
"""
STATES = ("passed", "failed", "refused", "unmade")


def clean(words):
    """As a cell of a table, without addresses, and paths of the machine."""
    return re.sub(r"(?<![\w.])/\S*/", "", re.sub(r"\S*https?:\S*", "..", words)).replace("|", "\\|").replace("\n", " ")[:200]


def number(value):
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def row(result):
    r = result
    own = f" ({r['own']:.1g}, {r['pytorch']:.1g})" if r["own"] > 1e-5 else ""
    return (f"| {r['name']} | {r['way']} | {r['ops']} | {r['seconds']:.1f} | {r['max_abs']:.1g}{own} | "
            f"{number(r['ms'])}, {number(r['node_ms'])}, {number(r['torch_ms'])} | {number(r['peak'] / 1e6)} |")


def part(zoo, module, results):
    """A zoo's section."""
    known = [results[name] for name in module.names() if name in results]
    lines = ["", f"## {zoo}", ""]
    left = len(module.names()) - len(known)
    if left:
        lines += [f"{left} models were not run for this page.", ""]
    bad = [r for r in known if r["state"] != "passed"]
    if bad:
        said = {"failed": "Rushlight", "refused": "PyTorch refuses", "unmade": "could not be made"}
        lines += ["| does not pass | whose | why |", "|---|---|---|"]
        lines += [f"| {r['name']} | {said[r['state']]} | {clean(r['why'])} |" for r in sorted(bad, key=lambda r: STATES.index(r["state"]))] + [""]
    other = [r for r in known if r["state"] == "passed" and r["whys"]]
    if other:
        lines += ["| passes in another way only | what stands in the first |", "|---|---|"]
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
    """`modules` and `results`: {zoo: its module}, {zoo: {name: result}}."""
    lines = [HEAD, "| zoo | models | pass | Rushlight fails | PyTorch refuses | not made |", "|---|---|---|---|---|---|"]
    for zoo, module in modules.items():
        n = {state: sum(r["state"] == state for name, r in results[zoo].items() if name in module.names()) for state in STATES}
        tried = n["passed"] + n["failed"]
        lines.append(f"| {zoo} | {tried} | {n['passed']} ({100 * n['passed'] / max(tried, 1):.1f} %) | {n['failed']} | {n['refused']} | {n['unmade']} |")
    for zoo, module in modules.items():
        lines += part(zoo, module, results[zoo])
    PAGE.write_text("\n".join(lines) + "\n")
