"""Makes the table of FEATURES.md from the tests: the feature, PyTorch's behavior and Rushlight's behavior.

    @pytest.mark.feature("TorchScript", "if, elif, else on a tensor's value")
    @pytest.mark.feature("TorchScript", "recursion", pytorch="refuses", rushlight="refuses")

declares that a Python test shows a feature: a topic, a short name, and "refuses" if PyTorch or Rushlight does not run it.
Several tests may share a row. tests/conftest.py records while they run: the largest difference that rushlight.export or
torch.testing.assert_close found, the messages that pytest.raises caught, and whether the program was kept for Node and
Chromium (recorded_programs.py). The body of a JavaScript test is passed to shown() (tests/js/shown.js), which records the
outcome when the test has ended:

    test('...', shown('FX', 'an Interpreter subclass sees every value', async () => { ... return { maxAbs }; }));

Each test writes a file to build/features, which the newest run replaces.

    python3 tests/features.py           writes FEATURES.md from the files of the last runs
    python3 tests/features.py --check   fails if the tests declare other features than FEATURES.md has
"""

import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
RUNS = Path(os.environ.get("RUSH_FEATURES", TOP / "build" / "features"))
PAGE = TOP / "docs" / "status" / "FEATURES.md"
TOPICS = {
    "TorchScript": "TorchScript",
    "FX": "torch.fx",
    "torch.export": "torch.export",
    "Native": "A native runtime inside PyTorch",
    "Operators": "Operators of your own",
    "Diff": "Comparing a file with PyTorch, value by value",
    "GPU": "The same interpreter with a GPU",
}


@dataclasses.dataclass(frozen=True)
class Feature:
    """The arguments of the mark."""

    topic: str
    name: str
    pytorch: str = "runs"
    rushlight: str = "runs"

    def __post_init__(self):
        if self.topic not in TOPICS:
            raise ValueError(f"feature: there is no topic {self.topic!r}: {', '.join(TOPICS)}")
        for who in (self.pytorch, self.rushlight):
            if who not in ("runs", "refuses"):
                raise ValueError(f"feature: {who!r} is neither 'runs' nor 'refuses'")


@dataclasses.dataclass
class Seen:
    """The observations of one test."""

    max_abs: float | None = None
    kept: bool = False  # Node and Chromium replay it
    pytorch: str = ""  # the last message of each
    rushlight: str = ""

    def difference(self, value):
        self.max_abs = value if self.max_abs is None else max(self.max_abs, value)

    def refusal(self, error):
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        ours = any(re.search("/(python|[a-z]+-packages)/rushlight/", f) for f in files) or "rushlight: " in str(error)
        setattr(self, "rushlight" if ours else "pytorch", f"{type(error).__name__}: {error}")


seen = Seen()  # of the current test


def enter(test, outcome):
    """Writes the outcome of a test to build/features."""
    RUNS.mkdir(parents=True, exist_ok=True)
    file = RUNS / (hashlib.sha256(test.encode()).hexdigest()[:16] + ".json")
    file.write_text(json.dumps({"test": test, "outcome": outcome, **dataclasses.asdict(seen)}))


# ---- The table

NOT_RUN = {"outcome": "skipped", **dataclasses.asdict(Seen())}


def of_js(known):
    """Returns (topic, name) for each call of shown(). A computed name stands for those of `known` that match."""
    for file in sorted(TOP.glob("tests/*/*.test.*js")):
        for topic, name in re.findall(r"\bshown\(\s*'([^']+)',\s*('[^']*'|`[^`]*`)", file.read_text()):
            parts = re.split(r"\$\{[^}]*\}", name[1:-1])
            pattern = ".+".join(map(re.escape, parts))
            for fits in [n for t, n in known if t == topic and re.fullmatch(pattern, n)] or ["...".join(parts)]:
                yield topic, fits


def declared(known):
    """Returns {Feature: the tests that show it}, in the order of the tests. `known` has all (topic, name)."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "--features", out.name,
                        "tests/python", "tests/exporter"], cwd=TOP, check=True, stdout=subprocess.DEVNULL)
        found = [(Feature(**f), test) for test, features in json.loads(Path(out.name).read_text()) for f in features]
    found += [(Feature(topic, name), f"js: {topic}: {name}") for topic, name in of_js(known)]
    table = {}
    for feature, test in found:
        table.setdefault(feature, []).append(test)
    return table


def text_of(message):
    """Shortens a message to one line, without local paths and without TorchScript's frame."""
    if "rushlight: " in message:
        message = message[message.index("rushlight: "):]
    message = re.sub(r"(<eval_with_key>)\.\d+", r"\1", message)  # torch.fx numbers the modules of a process
    message = re.sub(r"(?<![:;,.\n]) *\n\s*(?=\S)", "; ", re.sub(r": +\n", ":\n", message))  # items of a list
    line = re.sub(r"(?<![\w.])/\S*/", "", " ".join(message.split())).replace("`", "'")
    return line if len(line) <= 240 else line[:237].rsplit(" ", 1)[0] + " ..."


def cells(feature, tests, runs):
    """Returns the cells for PyTorch and Rushlight."""
    known = [runs[t] for t in tests]
    outcomes = {r["outcome"] for r in known}
    apart = [r["max_abs"] for r in known if r["max_abs"] is not None]
    pytorch, rushlight = feature.pytorch, feature.rushlight
    if "failed" in outcomes:
        rushlight = "refuses: **fails**" if feature.rushlight == "refuses" else "**fails**"
    elif outcomes != {"passed"}:
        rushlight = "refuses: not run here" if feature.rushlight == "refuses" else "not run here"
    elif pytorch == rushlight == "runs" and apart:
        rushlight = f"same, max abs {max(apart):.1g}" if max(apart) else "same, exactly"
    if any(r["kept"] for r in known):
        rushlight += "; Node, Chromium"
    return pytorch, rushlight


def messages(feature, tests, runs):
    """Returns a line for each message with which PyTorch or Rushlight refuses a feature."""
    caught = {name: [runs[t][who] for t in tests if runs[t][who]] for name, who in (("PyTorch", "pytorch"), ("Rushlight", "rushlight"))
              if getattr(feature, who) == "refuses"}
    return [f"- {feature.name}, {name}: `{text_of(texts[-1])}`" for name, texts in caught.items() if texts]


def page(table, runs):
    head = [
        "# Features, as the tests show them", "",
        "`./dev shell python3 tests/features.py` makes this page from the tests in `tests/python`, `tests/exporter`, `tests/js` and",
        "`tests/gpu`. Each test declares the feature that it shows. A difference is the largest one between two floating-point numbers.",
        "Those of `tests/python` and `tests/exporter` run natively in Python. `./dev test conformance` also replayed the rows that say",
        "\"Node, Chromium\" in these two. Those of `tests/gpu` run in Chromium, whose GPU is software there. Their differences are from the",
        "CPU, in units of the greatest number of a tensor if that is above 1.", "",
    ]
    lines = []
    for topic, title in TOPICS.items():
        rows = [(f, cells(f, tests, runs)) for f, tests in table.items() if f.topic == topic]
        if rows:
            lines += ["", f"## {title}", "", "| feature | PyTorch | Rushlight |", "|---|---|---|"]
            lines += [f"| {f.name} | {pytorch} | {rushlight} |" for f, (pytorch, rushlight) in rows]
            said = [line for f, _ in rows for line in messages(f, table[f], runs)]
            lines += ["", "Messages of refusals:", "", *said] if said else []
    sections = "\n".join(lines) + "\n"
    return "\n".join(head) + "\n" + sums(sections) + sections


def rows_of(text):
    """Reads [(topic, name, PyTorch's cell, Rushlight's cell)] from the sections of a page, without the table of sums above."""
    rows, topics, topic = [], {title: topic for topic, title in TOPICS.items()}, None
    for line in text.splitlines():
        if line.startswith("## "):
            topic = topics[line[3:]]
        elif topic and line.startswith("| ") and not line.startswith("| feature |"):
            rows.append((topic, *(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:4])))
    return rows


def refuses(cell):
    return cell.startswith("refuses")


def sums(text):
    """Returns a table with the number of rows of a page's sections for each topic."""
    lines = ["| feature | PyTorch | Rushlight |", "|---|---|---|"]
    for topic, title in TOPICS.items():
        rows = [row for row in rows_of(text) if row[0] == topic]
        refused, ours = sum(refuses(row[2]) for row in rows), [row[3] for row in rows]
        apart = [float(n) for cell in ours for n in re.findall("max abs ([^;]+)", cell)]
        wrong = sum("**fails**" in cell for cell in ours)
        left = sum("not run here" in cell and not refuses(cell) for cell in ours)
        said = [f"{len(ours) - sum(map(refuses, ours)) - wrong - left} run, max abs {max(apart, default=0):.1g}"]
        said += [f"{n} {what}" for n, what in ((sum(map(refuses, ours)), "refused by name"), (left, "not run here"), (wrong, "**fail**")) if n]
        lines.append(f"| {title} | {len(rows) - refused} run{f', {refused} refused' * bool(refused)} | {', '.join(said)} |")
    return "\n".join(lines) + "\n"


def main(arguments):
    if arguments != ["--check"]:
        runs = {r["test"]: r for r in (json.loads(f.read_text()) for f in sorted(RUNS.glob("*.json")))}
        table = declared(sorted(tuple(t.split(": ", 2)[1:]) for t in runs if t.startswith("js: ")))
        for test in (t for tests in table.values() for t in tests if t not in runs):
            print(f"{test} has not run: ./dev test exporter python js gpu", file=sys.stderr)
        PAGE.write_text(page(table, {t: runs.get(t, NOT_RUN) for tests in table.values() for t in tests}))
        return 0
    have = {(topic, name, refuses(pytorch), refuses(rushlight)) for topic, name, pytorch, rushlight in rows_of(PAGE.read_text())}
    want = {(f.topic, f.name, f.pytorch == "refuses", f.rushlight == "refuses") for f in declared(sorted(r[:2] for r in have))}
    for what, rows in (("is missing in", want - have), ("is only in", have - want)):
        for topic, name, *_ in sorted(rows):
            print(f"{topic}: {name!r} {what} FEATURES.md, or refuses otherwise: ./dev shell python3 tests/features.py writes it", file=sys.stderr)
    return int(want != have)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
