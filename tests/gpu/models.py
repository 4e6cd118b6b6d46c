#!/usr/bin/env python3
"""Exports models for models.test.mjs, each with test vectors of PyTorch at several sizes.

    models.py FOLDER            exports the models of models.txt, and fifteen of MODELS.md, drawn by a seed
    models.py FOLDER --seed 7   draws others
    models.py FOLDER -k REGEX   exports only those whose "ZOO NAME" matches
    models.py FOLDER --sample   exports those of models.txt before the first empty line

The sizes are those of the zoo, twice the batch, and larger pictures or longer sequences. A size that PyTorch's model or the
CPU does not take is left out. FOLDER/models.json names the files.
"""
import argparse
import importlib
import json
import os
import random
import re
import sys
import warnings
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # small models are slower with more
sys.path[:0] = [str(TOP / "tests" / "zoo"), str(HERE)]
import entry as entries  # noqa: E402, I001 - reference, before torch
import torch  # noqa: E402
import model as zoo_model  # noqa: E402
import rushlight  # noqa: E402
from rushlight.front import inputs  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

DRAWN = 15
SLOW, LARGE = 100, 100  # milliseconds in Node and megabytes of a model that is drawn
ROW = re.compile(r"\| ([^|*]+) \| (?:traced|scripted|torch.export) \|.*\| [\d.e-]+, ([\d.e-]+), [\d.e-]+ \| ([\d.]+) \|")


def listed(sample):
    """Reads [(zoo, name)] of models.txt."""
    first, others = (HERE / "models.txt").read_text().split("\n\n")
    lines = (first if sample else first + "\n" + others).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line[0] != "#"]


def drawn(seed):
    """Draws models of MODELS.md that are small enough for an adapter in software."""
    zoo, found = None, []
    for line in (TOP / "docs" / "status" / "MODELS.md").read_text().splitlines():
        if line.startswith("## "):
            zoo = line[3:]
        row = ROW.match(line)
        if row and float(row[2]) < SLOW and float(row[3]) < LARGE and not row[1].startswith("quantized"):  # on the CPU
            found.append((zoo, row[1].replace("\\", "")))
    return random.Random(seed).sample(found, DRAWN)


def grown(tensor, way):
    """Returns a tensor of another size with elements of this one: twice the batch, or larger."""
    if way == "batch":
        return torch.cat([tensor, tensor.roll(1, -1)]) if tensor.dim() else tensor
    if tensor.dim() == 4:
        _, _, h, w = tensor.shape
        return tensor[:, :, torch.arange(h + 32) % h][:, :, :, torch.arange(w + 64) % w].contiguous()
    if tensor.dim() in (2, 3):
        n = tensor.size(1)
        return tensor[:, torch.arange(n + 3) % n].contiguous()
    return tensor


def other_sizes(entry):
    """Yields inputs of other sizes that PyTorch's model takes."""
    for way in ("batch", "larger"):
        given = pytree.tree_map(lambda t: grown(t, way) if isinstance(t, torch.Tensor) else t, entry.inputs)
        try:
            zoo_model.tells(entries.Entry(entry.model, given).answer())
        except Exception:  # PyTorch's model takes no such size
            continue
        yield given


def export(entry, captured, path):
    """Exports a model with the test vectors that the CPU passes. Returns their number."""
    vectors = [entry.inputs]
    for given in other_sizes(entry):
        try:
            write(entry, captured, path, [*vectors, given])
        except Exception:  # the sizes of the trace are fixed
            continue
        vectors.append(given)
    write(entry, captured, path, vectors)
    return len(vectors)


def write(entry, captured, path, vectors):
    tests = [(inputs.positional(captured, given)[0], None) for given in vectors]
    rushlight.export(captured, entry.inputs, path, tests=tests, test_vectors=False, verify=False, source=True)
    rushlight.load(str(path)).verify()


def make(zoo, name, path):
    """Exports a model in the first way that works. Returns the number of its test vectors."""
    torch.manual_seed(zlib.crc32(name.encode()))
    entry = entries.settled(importlib.import_module(f"zoo_{zoo}").make(name))
    args, named = entry.arguments()
    captures = {"traced": lambda: entry.model, "torch.export": lambda: torch.export.export(entry.model, args, named, strict=False),
                "scripted": lambda: torch.jit.script(entry.model)}
    for way in entry.ways:
        try:
            return export(entry, captures[way](), path)
        except Exception as error:
            last = error
    raise last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("-k", default="")
    parser.add_argument("--sample", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    chosen = listed(options.sample) + ([] if options.sample else drawn(options.seed))
    rows, failed = [], 0
    for zoo, name in dict.fromkeys(chosen):
        if not re.search(options.k, f"{zoo} {name}"):
            continue
        file = re.sub(r"\W+", "_", f"{zoo} {name}") + ".rush"
        try:
            tests = make(zoo, name, options.folder / file)
        except Exception as error:
            print(f"{zoo} {name}: {zoo_model.reason(error)}", flush=True)
            failed += 1
            continue
        print(f"{zoo} {name}: {tests} test vectors, {os.path.getsize(options.folder / file) / 1e6:.1f} MB", flush=True)
        rows.append({"name": f"{zoo} {name}", "file": file, "tests": tests})
    (options.folder / "models.json").write_text(json.dumps(rows))
    return int(failed > 0 or not rows)


if __name__ == "__main__":
    sys.exit(main())
