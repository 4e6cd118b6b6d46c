#!/usr/bin/env python3
"""Exports whole zoos of models with random weights, runs them natively and in Node, and compares them with PyTorch.

    run.py [ZOO..]            runs models without a result of torchvision, timm, transformers, families; writes MODELS.md
    run.py ZOO -k resnet      runs models whose names contain this word again, and leaves MODELS.md as it is
    run.py --failed [ZOO..]   runs models that did not pass again
    run.py --again [ZOO..]    runs all models again
    run.py --sample           runs the models of sample.txt, and fails if one of them fails
    run.py --page             only writes MODELS.md from the existing results
    run.py --decoding         runs transformers' caches, token by token (decoding.py)

One model runs at a time, in its own process with a limit of processor time and memory. Results are kept, so a run
continues an interrupted one. build/zoo has the results, one line of JSON each, and log/ has the output of each model.
"""
import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(HERE)]
import model  # noqa: E402, I001 - reference, before torch
import page  # noqa: E402

ZOOS = ("torchvision", "timm", "transformers", "families")
OUT = TOP / "build" / ("zoo-sample" if "--sample" in sys.argv else "zoo")
WORK = 600  # seconds of processor time for a model
IN_NODE = 600
MEMORY = 12 << 30


def results_file(zoo):
    return OUT / f"{zoo}.jsonl"


def read(zoo):
    """Reads {name: result}. If a model has several lines, the last one counts."""
    try:
        lines = results_file(zoo).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {result["name"]: result for result in map(json.loads, lines)}


def in_child(zoo, module, name, path):
    """Returns the result of model.try_model(), which runs in a process that may crash."""
    part = OUT / f"{zoo}.part"
    part.unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (WORK, WORK))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            os.dup2(os.open(OUT / "log" / f"{zoo}-{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
            os.dup2(1, 2)
            warnings.simplefilter("ignore")
            part.write_text(json.dumps(model.try_model(module, name, path)))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if not part.exists():
        return {"state": "failed", "why": f"the process ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status)
                else "the process ended without a word: memory"}
    return json.loads(part.read_text())


def in_node(path):
    """Runs the file in Node. Returns {"node_ms", "peak"}, or {"why"}."""
    said = OUT / "log" / f"{path.stem}-node.log"
    with said.open("w") as log:
        node = subprocess.run(["node", HERE / "replay.mjs", path], stdout=subprocess.PIPE, stderr=log, text=True, cwd=TOP,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (IN_NODE, IN_NODE)))
    if node.returncode:
        words = [line for line in said.read_text().splitlines() if "Error" in line]
        return {"why": f"in Node: {words[0][:300] if words else f'it ended with {node.returncode}'}"}
    came = json.loads(node.stdout)
    wrong = [m for m in came["messages"] if m is not None]
    return {"why": f"in Node: {wrong[0][:300]}"} if wrong else {"node_ms": came["ms"], "peak": came["peak"]}


def run(zoo, module, name):
    path = OUT / f"{zoo}.rush"
    path.unlink(missing_ok=True)
    begin = time.time()
    result = in_child(zoo, module, name, path)
    if result["state"] == "passed":
        there = in_node(path)
        result |= {"state": "failed", **there} if "why" in there else there
    path.unlink(missing_ok=True)
    result = {"name": name, **result, "whole": time.time() - begin}
    with results_file(zoo).open("a") as file:
        file.write(json.dumps(result) + "\n")
    return result


def line(zoo, result):
    if result["state"] == "passed":
        about = f"{result['way']}, max abs {result['max_abs']:.2g}, {result['ms']:.3g} ms natively, {result['node_ms']:.3g} in Node, {result['torch_ms']:.3g} PyTorch"
    else:
        about = result["why"]
    return f"{result['state']:8}{zoo} {result['name']}: {about}  ({result['whole']:.0f} s)"


def sample():
    """Reads {zoo: names} from sample.txt."""
    chosen = {}
    for text in (HERE / "sample.txt").read_text().splitlines():
        if text and text[0] != "#":
            zoo, name = text.split(maxsplit=1)
            chosen.setdefault(zoo, []).append(name)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoos", nargs="*", metavar="ZOO")
    parser.add_argument("-k", action="append")
    for flag in ("failed", "again", "sample", "page", "decoding"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_args()
    unknown = [zoo for zoo in options.zoos if zoo not in ZOOS]
    if unknown:
        parser.error(f"there is no zoo {', '.join(unknown)}: {', '.join(ZOOS)}")
    (OUT / "log").mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    if options.decoding:
        importlib.import_module("decoding").main(OUT)
        return 0
    chosen = sample() if options.sample else {zoo: None for zoo in options.zoos or ZOOS}
    bad = 0
    for zoo, names in ({} if options.page else chosen).items():
        module, before = importlib.import_module(f"zoo_{zoo}"), read(zoo)
        names = names or module.names()
        if options.k:
            names = [name for name in names if any(k in name for k in options.k)]
        elif options.failed:
            names = [name for name in names if name in before and before[name]["state"] != "passed"]
        elif not (options.again or options.sample):
            names = [name for name in names if name not in before]
        for name in names:
            result = run(zoo, module, name)
            bad += result["state"] != "passed"
            print(line(zoo, result), flush=True)
    if options.sample:
        return int(bad > 0)
    if options.k:
        return 0
    page.write({zoo: importlib.import_module(f"zoo_{zoo}") for zoo in ZOOS if read(zoo)}, {zoo: read(zoo) for zoo in ZOOS})
    return 0


if __name__ == "__main__":
    sys.exit(main())
