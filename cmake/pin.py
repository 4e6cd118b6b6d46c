"""Writes the SHA-256 of every wheel into a file of Python packages, so that pip installs these bytes and no others.

    python3 cmake/pin.py FILE              # the versions in FILE, with the hashes of today's registry
    python3 cmake/pin.py FILE PACKAGE..    # the newest versions of these packages and of all that they need

The wheels are those for Python 3.13, on the processors below. Comments at the file's beginning stay.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROCESSORS = ("x86_64", "aarch64")
GLIBC = ("2010", "2014", "_2_17", "_2_24", "_2_26", "_2_27", "_2_28", "_2_31", "_2_34", "_2_35", "_2_39")


def wheels(processor, wanted):
    """Returns {(name, version): sha256} of the wheels that pip would install."""
    with tempfile.TemporaryDirectory() as folder:
        platforms = [word for glibc in GLIBC for word in ("--platform", f"manylinux{glibc}_{processor}")]
        subprocess.run([sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:",
                        "--target", folder, "--python-version", "3.13", "--implementation", "cp", *platforms,
                        "--report", f"{folder}/report.json", *wanted], check=True)
        report = json.loads(pathlib.Path(folder, "report.json").read_text())
    out = {}
    for package in report["install"]:
        name, version = package["metadata"]["name"].lower().replace("_", "-"), package["metadata"]["version"]
        out[name, version] = package["download_info"]["archive_info"]["hashes"]["sha256"]
    return out


def main(path, packages):
    old = path.read_text() if path.exists() else ""
    wanted = packages or ["--no-deps", *re.findall(r"^[\w.-]+==[^\s\\;]+", old, re.M)]
    hashes = {}
    for processor in PROCESSORS:
        for package, digest in wheels(processor, wanted).items():
            hashes.setdefault(package, []).append(digest)
    comment = re.match(r"(#.*\n)*", old)[0]
    rows = [f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{digest}" for digest in sorted({*digests}))
            for (name, version), digests in sorted(hashes.items())]
    path.write_text(comment + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
