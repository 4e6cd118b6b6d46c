"""Checks that everything installed for builds and tests has a hash: SHA-256 for pip, and lock files with integrity for npm."""

import json
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# A command in a shell script, and the same command as a list of arguments in Python and JavaScript.
PIP = {"sh": re.compile(r"\bpip3? (install|download|wheel)\b"), "list": re.compile(r"""["']pip3?["'], *["'](install|download|wheel)["']""")}
NPM = {"sh": re.compile(r"\b(npm (install|i|add|update|exec|ci)|(yarn|pnpm|bun) (install|add)|npx (?!rushlight)[\w@-]+)\b"),
       "list": re.compile(r"""["'](npm|yarn|pnpm|bun)["'], *\[? *["'](install|i|add|update|exec|ci)["']|["']npx["'], *\[""")}
# These install nothing from a registry. They compare downloads file by file (demo/shared/wheels.py), or only request hashes.
PIP_IS_SAFE = "--require-hashes", "--no-index", "--no-deps --dest", "--dry-run"
NPM_IS_SAFE = "npm ci ", "--offline", "--no-install"


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=TOP, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (TOP / name).is_file()]


def calls(name):
    """Returns the calls in a program that install without hashes."""
    lines = (TOP / name).read_text(errors="replace").splitlines()
    form = "list" if name.endswith((".py", ".js", ".mjs")) else "sh"
    for i, line in enumerate(lines):
        if line.lstrip().startswith("#") or re.search(r"\b(say|die|echo) \"", line):
            continue
        statement = re.sub(r"""["',\s\[\]]+""", " ", " ".join(lines[i:i + 4]))
        if PIP[form].search(line) and not any(word in statement for word in PIP_IS_SAFE):
            yield f"{name}:{i + 1}: pip must be given --require-hashes: {line.strip()}"
        if NPM[form].search(line) and not any(word in statement for word in NPM_IS_SAFE):
            yield f"{name}:{i + 1}: npm must be npm ci, or --offline: {line.strip()}"


def requirements(name):
    text = re.sub(r"\\\n\s*", " ", (TOP / name).read_text())
    for line in text.splitlines():
        if line and not line.startswith("#") and not re.fullmatch(r"[\w.-]+==[^\s=;]+(\s+--hash=sha256:[0-9a-f]{64})+", line):
            yield f"{name}: a package must have one version and SHA-256 hashes (cmake/pin.py writes them): {line[:80]}"


def lock(name):
    for package, entry in json.loads((TOP / name).read_text())["packages"].items():
        if package and not entry.get("link") and not re.match("sha512-", entry.get("integrity", "")):
            yield f"{name}: {package} must have an integrity, a SHA-512"


def faults():
    for name in tracked("dev", "*.sh", "*.py", "*.mjs", "*.js", "*.cmake", "*/run", "*/build"):
        yield from calls(name)
    for name in tracked("*requirements*.txt"):
        yield from requirements(name)
    for name in tracked("*package-lock.json"):
        yield from lock(name)


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "everything is installed by hash")
    sys.exit(bool(found))
