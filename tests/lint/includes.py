"""Who includes whom in exporter/src: a folder may include what stands below it here, and nothing else."""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# {folder: the folders that it may include, besides itself and the runtime's public headers}. "" are the files in src/
# itself, "torch" is exporter/torch, "jit" libtorch's TorchScript.
EXPORTER = {
    "base": {"torch"},
    "ir": {"base", "torch"},
    "passes": {"base", "ir"},
    "front": {"base", "torch", "ir", "jit"},
    "write": {"base", "torch", "ir"},
    "run": {"base", "torch", "ir"},
    "inspect": {"base", "torch", "run"},
    "": {"base", "torch", "ir", "passes", "front", "write", "run", "inspect"},
    "python": {"", "base", "torch", "ir", "passes", "front", "write", "run", "inspect", "jit"},
}
# Schemas are TorchScript's, and these ask for them.
ASKS_FOR_SCHEMAS = {"ir/schema.cpp"}


def folder_of(included):
    """The folder of a header; None where it is none of ours."""
    if included.startswith("torch/csrc/jit/"):
        return "jit"
    if included.startswith(("rushlight/", "torch/", "ATen/", "c10/")):
        return None
    return "torch" if included == "torch_values.h" else included.rpartition("/")[0]


def faults(root, floors):
    for file in sorted(f for f in root.rglob("*") if f.suffix in (".h", ".cpp")):
        name = str(file.relative_to(root))
        own = name.rpartition("/")[0]
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'#include ("|<torch/csrc/jit/)([^">]+)', line)
            if not include:
                continue
            wanted = folder_of(include[2] if include[1] == '"' else "torch/csrc/jit/" + include[2])
            if wanted in (None, own) or wanted in floors[own] or (wanted == "jit" and name in ASKS_FOR_SCHEMAS):
                continue
            yield f"{file.relative_to(TOP)}:{number}: {own or 'src'} may not include {wanted}: {line.strip()}"


if __name__ == "__main__":
    found = list(faults(TOP / "exporter" / "src", EXPORTER))
    print("\n".join(found) or "the exporter's folders include what is below them")
    sys.exit(bool(found))
