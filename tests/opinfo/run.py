#!/usr/bin/env python3
"""Exports every operator of PyTorch's own test table (OpInfo), replays it natively and in Node, and compares the answers.

    run.py                  runs all entries and dtypes without a result (build/opinfo), and writes OPERATORS.md
    run.py -k fft -k conv   runs entries whose names contain one of these words again
    run.py --dtypes float32,int64
    run.py --sample         runs the entries of sample.txt, and fails if one of their cases fails
    run.py --page           only writes OPERATORS.md from the existing results
    run.py --tables         only renews the columns of OPERATORS.md that name the implementation, without any results

Two entries run at a time (RUSH_JOBS), each in its own process with a limit of processor time and memory. An entry that
hangs or crashes has failed, and the others continue. A run continues an interrupted one. A result is made again when the
exporter, the runtime or this folder changes.
"""
import argparse
import hashlib
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
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import cases  # noqa: E402, I001 - reference, before torch
import page  # noqa: E402
import replay  # noqa: E402
from generate import exporter_key  # noqa: E402
import torch  # noqa: E402

OUT = Path(os.environ.get("RUSH_OPINFO", TOP / "build" / "opinfo"))
FILES, RESULTS = OUT / "files", OUT / "results"
JOBS = int(os.environ.get("RUSH_JOBS", 2))
WORK = 600  # seconds of processor time for an entry and dtype
MEMORY = 6 << 30
IN_NODE = 40  # entries that one Node replays


def key_now():
    digest = hashlib.sha256((exporter_key() + torch.__version__ + cases.reference.NAME).encode())
    for file in [*sorted(HERE.glob("*.*")), TOP / "js/wasm/rushlight-simd.wasm"]:
        if file.suffix in (".py", ".mjs", ".wasm") and file.name != "page.py":
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def result_file(job):
    return RESULTS / f"{job[0]}-{job[1]}.json".replace("/", "_")


def remove_files(job):
    for old in FILES.glob(f"{job[0]}-{job[1]}-*.rush".replace("/", "_")):
        old.unlink()


def write(result):
    file = result_file((result["entry"], result["dtype"]))
    part = file.with_suffix(".part")
    part.write_text(json.dumps(result))
    part.replace(file)


def read(job):
    try:
        return json.loads(result_file(job).read_text())
    except FileNotFoundError:
        return None


def begin(job, key, alone=None):
    """Starts a process that writes the job's result. It also runs each case named in `alone` by itself and adds the outcome."""
    before = read(job) if alone else {"passed": 0, "failed": 0, "refused": {}, "overloads": [], "ops": [], "whys": []}
    remove_files(job)

    def leave(result):
        sums = {"entry": job[0], "dtype": job[1], "key": key, "vectors": result["vectors"], "refused": before["refused"] or result["refused"]}
        sums |= {what: before[what] + result[what] for what in ("passed", "failed")}
        sums |= {what: list(dict.fromkeys(before[what] + result[what])) for what in ("overloads", "ops")}
        write({**sums, "whys": (before["whys"] + result["whys"])[:5], "by_itself": alone is not None})

    crashed = {"passed": 0, "failed": len(alone or [1]), "refused": {}, "vectors": [], "overloads": [], "ops": [],
               "whys": [["all of it", "the process crashed, or came to its limit of work or memory"]]}
    leave(crashed)
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (WORK, WORK))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the output of entries
        os.dup2(1, 2)
        warnings.simplefilter("ignore")
        leave(replay.run_entry(*job, FILES, alone))
    except BaseException as error:
        leave({**crashed, "whys": [["all of it", replay.reason(error)]]})
    finally:
        os._exit(0)


def begin_node(jobs):
    files = sorted({path for job in jobs for path, *_ in read(job)["vectors"]})
    return subprocess.Popen(["node", str(HERE / "replay.mjs"), *files], stdout=(OUT / "node.out").open("w"), cwd=TOP).pid


def take_node(jobs):
    """Counts the cases that failed only in Node and ran by themselves. Returns {job: names of cases that must run so}. A file
    that Node did not reach because it crashed has failed."""
    said = dict(json.loads(line) for line in (OUT / "node.out").read_text().splitlines() if line.startswith('["'))
    again = {}
    for job in jobs:
        result = read(job)
        wrong = []
        for path, i, what in result.pop("vectors"):
            messages = said.get(path, "Node crashed here or before")
            message = messages if isinstance(messages, str) else messages[i]
            if message is not None:
                wrong.append([what, " ".join(message.split())[:300]])
        remove_files(job)
        result["passed"] -= len(wrong)
        if wrong and not result["by_itself"]:
            again[job] = [what for what, _ in wrong]
        else:
            result["failed"] += len(wrong)
            result["whys"] = (result["whys"] + [[what + ", in Node", message] for what, message in wrong])[:5]
            result["node"] = True
        write(result)
    return again


def run(jobs, key):
    """Runs all jobs, two processes at a time."""
    waiting, running, done, in_node = [(job, None) for job in jobs], {}, [], None
    start, said = time.time(), 0
    while waiting or running or done:
        while len(running) < JOBS:
            if done and in_node is None and (len(done) >= IN_NODE or not waiting and not running):
                in_node, done = done, []
                running[begin_node(in_node)] = None
            elif waiting:
                job, alone = waiting.pop(0)
                running[begin(job, key, alone)] = job
            else:
                break
        child, _ = os.wait()
        job = running.pop(child)
        if job is None:
            waiting = [*take_node(in_node).items(), *waiting]
            in_node = None
        else:
            done.append(job)
        if time.time() - said > 20:
            said = time.time()
            print(f"{len(jobs) - len(waiting)} of {len(jobs)} entries and dtypes, {said - start:.0f} s", flush=True)


def chosen(options):
    jobs = [(name, dtype) for name, op in cases.entries().items() for dtype in cases.dtypes_of(op)]
    if options.sample:
        wanted = dict(line.split(maxsplit=1) for line in (HERE / "sample.txt").read_text().splitlines() if line and line[0] != "#")
        unknown = wanted.keys() - {name for name, _ in jobs}
        assert not unknown, f"sample.txt: PyTorch's table has no {', '.join(unknown)}"
        return [job for job in jobs if job[1] in wanted.get(job[0], "").split()]
    if options.k:
        jobs = [job for job in jobs if any(k in job[0] for k in options.k)]
    if options.dtypes:
        jobs = [job for job in jobs if job[1] in options.dtypes.split(",")]
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", action="append")
    parser.add_argument("--dtypes")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    if options.tables:
        page.PAGE.write_text(page.renewed(page.PAGE.read_text()))
        return 0
    warnings.filterwarnings("ignore")
    FILES.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    jobs, key = chosen(options), key_now()
    if not options.page:
        again = options.k is not None
        run([job for job in jobs if again or (read(job) or {}).get("key") != key or "node" not in read(job)], key)
    results = [r for r in map(read, jobs) if r]
    for r in results if options.k or options.sample else ():
        if r["failed"]:
            (what, why), *_ = r["whys"]
            print(f"{r['entry']} {r['dtype']}: {r['passed']} of {r['passed'] + r['failed']}; {what}: {why}")
    bad = sum(r["failed"] > 0 for r in results)
    print(f"{len(results) - bad} of {len(results)} entries and dtypes are whole, "
          f"{sum(r['passed'] for r in results)} of {sum(r['passed'] + r['failed'] for r in results)} cases", flush=True)
    if options.sample:
        return int(bad > 0)
    everything = {job: read(job) for job in chosen(parser.parse_args(["--page"]))}
    left_out = {dtype for (_, dtype), result in everything.items() if result is None}
    whole = [result for (_, dtype), result in everything.items() if dtype not in left_out]
    if whole:
        page.write(whole, sorted(left_out))
    print(f"OPERATORS.md: {len(whole)} entries and dtypes; without {', '.join(sorted(left_out)) or 'none'}, which did not run whole")
    return 0


if __name__ == "__main__":
    sys.exit(main())
