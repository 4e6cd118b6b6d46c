"""Analyzes the C and C++ sources with clang-tidy and the checks of .clang-tidy.

    ./dev test analysis                       the C runtime
    ./dev test analysis -- --all              also the exporter in C++ (an hour)
    ./dev test analysis -- wasm/src/base/ctx.c   these files alone

A file that passed is only analyzed again if the file, one of its headers, its command, or the checks change.
$RUSH_CACHE/analysis has an empty file for each that passed. A finding is suppressed by `NOLINT(check)` with the reason on the same line.

clang-analyzer-* are the checks of scan-build, which is therefore not run by itself. The checks that .clang-tidy leaves out were tried
with `clang --analyze` on wasm/src/base and the first files of wasm/src/call: 2 reports, of which none is real. A refusal ends in
rush_fail(), which is in another file, so that the analyzer assumes that it may return RUSH_OK.

GCC's -fanalyzer is not used. GCC 12 reports 277 dereferences of NULL in wasm/src outside of the kernels, and nothing else. None is
real: it does not know that the schema of an operator rules out None, for which arg_tensor() returns NULL (call/call.h).
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build/native"
PASSED = pathlib.Path(os.environ["RUSH_CACHE"]) / "analysis"
TIDY = os.environ["RUSH_CLANG_TIDY"]


def commands():
    """Returns {source below TOP: its entry of compile_commands.json}."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(TOP) and not path.is_relative_to(TOP / "build"):
            found.setdefault(path.relative_to(TOP).as_posix(), entry)
    return found


def headers():
    """Returns {object file: the files that Ninja recorded as its dependencies}."""
    text = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    blocks = (block.splitlines() for block in text.split("\n\n") if block.strip())
    return {head.split(":")[0]: [line.strip() for line in lines] for head, *lines in blocks}


def key(entry, files, fixed):
    """Returns the key of an analysis: the checks, the command, and every file that the compiler read, our own by their text."""
    total = hashlib.sha256(fixed + re.sub(re.escape(str(TOP)), "", entry["command"]).encode())
    for name in sorted(files):
        path = (BUILD / name).resolve()
        ours = path.is_relative_to(TOP) and path.exists()
        total.update(path.read_bytes() if ours else name.encode())
    return total.hexdigest()[:32]


def analyze(source, resources):
    """Returns the findings of one file as clang-tidy writes them, or ""."""
    done = subprocess.run([TIDY, "-p", BUILD, f"--extra-arg=-resource-dir={resources}", "--extra-arg=-Wno-unknown-warning-option",
                           "--quiet", source], cwd=TOP, capture_output=True, text=True)
    return done.stdout or (done.stderr if done.returncode else "")


def chosen(entries, arguments):
    if arguments.files:
        unknown = [f for f in arguments.files if f not in entries]
        if unknown:
            sys.exit(f"build/native does not compile {', '.join(unknown)}")
        return arguments.files
    trees = ("wasm/src/", "exporter/") if arguments.all else ("wasm/src/",)
    return sorted(f for f in entries if f.startswith(trees))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*")
    entries, used = commands(), headers()
    sources = chosen(entries, parser.parse_args())
    fixed = (TOP / ".clang-tidy").read_bytes() + subprocess.check_output([TIDY, "--version"])
    resources = subprocess.check_output(["clang", "-print-resource-dir"], text=True).strip()
    PASSED.mkdir(parents=True, exist_ok=True)
    keys = {s: key(entries[s], used.get(entries[s]["output"], ()), fixed) for s in sources}
    changed = [s for s in sources if not (PASSED / keys[s]).exists()]
    print(f"{len(sources)} files, of which {len(changed)} changed since they passed")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", 2))) as pool:
        for source, findings in zip(changed, pool.map(lambda s: analyze(s, resources), changed)):
            if findings:
                failed += 1
                print(findings)
            else:
                (PASSED / keys[source]).touch()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
