"""Writes the parts of a release that are text, and checks all parts: release notes, SBOM, checksums, missing settings.

    python3 scripts/release.py FOLDER [TAG]    FOLDER has the packages, the documentation and the source archive

With a tag it refuses what a dry run only lists: a tag of another version, settings that are missing, and a changelog without a
section for the version.

Everything that it writes depends only on the commit and on the toolchain, so that a second run writes the same bytes.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = json.loads((TOP / "js" / "package.json").read_text())
EMSCRIPTEN = pathlib.Path("/usr/share/emscripten")
# Fields of js/package.json that name places on the web. Both packages, the guide and SECURITY.md take them from there.
SETTINGS = "homepage", "repository", "bugs"


def notes(released=False):
    """Returns the section of CHANGELOG.md for this version, or, unless it is released, the section [Unreleased].

    Raises:
        ValueError: CHANGELOG.md has neither section, or the section is empty
    """
    sections = re.split(r"^## ", (TOP / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    for name in (f"[{PACKAGE['version']}]", "[Unreleased]")[:1 if released else 2]:
        for section in sections:
            heading, _, text = section.partition("\n")
            if heading.startswith(name) and text.strip():
                return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md must have a section [{PACKAGE['version']}]" + ("" if released else " or [Unreleased]"))


def debian_version(package):
    """Returns the version of a package of Debian that is installed here."""
    asked = ["dpkg-query", "--show", "--showformat", "${Version}", package]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def components():
    """Returns what the binaries contain of other projects, as components of CycloneDX."""
    emscripten, xnnpack = debian_version("emscripten"), debian_version("libxnnpack0.20241108")
    compiler_rt = re.search(r"release ([\d.]*\d)", (EMSCRIPTEN / "system/lib/compiler-rt/readme.txt").read_text())[1]
    musl = (EMSCRIPTEN / "system/lib/libc/musl/VERSION").read_text().strip()
    dagre = json.loads((TOP / "tests/package.json").read_text())["devDependencies"]["@dagrejs/dagre"]
    zig = re.search(r"ziglang==(\S+)", (TOP / "cmake/zig/requirements.txt").read_text())[1]
    of_debian = f"pkg:deb/debian/emscripten@{emscripten}?arch=all&distro=trixie"
    return [
        component("XNNPACK", xnnpack, "BSD-3-Clause", f"pkg:deb/debian/xnnpack@{xnnpack}?arch=source&distro=trixie"),
        component("emscripten", emscripten, "MIT", of_debian),
        component("musl", musl, "MIT", of_debian),
        component("compiler-rt", compiler_rt, "Apache-2.0 WITH LLVM-exception", of_debian),
        component("libcxx", f"ziglang-{zig}", "Apache-2.0 WITH LLVM-exception", f"pkg:pypi/ziglang@{zig}"),
        component("dagre", dagre, "MIT", f"pkg:npm/%40dagrejs/dagre@{dagre}"),
    ]


def component(name, version, licence, purl):
    field = "expression" if " " in licence else "license"
    return {"type": "library", "name": name, "version": version, "purl": purl,
            "licenses": [{field: licence} if field == "expression" else {field: {"id": licence}}]}


def sbom(commit):
    """Returns the software bill of materials in CycloneDX 1.6. Its serial number follows from the commit."""
    digest = hashlib.sha256(f"rushlight {commit}".encode()).hexdigest()
    serial = f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
    version = PACKAGE["version"]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}", "version": 1,
        "metadata": {"component": {"type": "library", "bom-ref": "rushlight", "name": "rushlight", "version": version,
                                   "purl": f"pkg:npm/rushlight@{version}", "licenses": [{"license": {"id": PACKAGE["license"]}}]}},
        "components": [{"bom-ref": part["name"], **part} for part in components()],
        "dependencies": [{"ref": "rushlight", "dependsOn": [part["name"] for part in components()]}],
    }


def names_in(path):
    """Returns the names of the files in an archive."""
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def faults(folder, tag):
    """Yields what is wrong with the parts."""
    if tag:
        if tag != f"v{PACKAGE['version']}":
            yield f"the tag must be v{PACKAGE['version']}, as js/package.json says, got {tag}"
        yield from (f"js/package.json must have a {name}" for name in SETTINGS if not PACKAGE.get(name))
    for pattern in ("rushlight-*.tgz", "rushlight-*.whl", "rushlight-*-source.tar.gz", "rushlight-*-docs.tar.gz"):
        found = list(folder.glob(pattern))
        if len(found) != 1:
            yield f"there must be one {pattern}, found {len(found)}"
        elif not any("LICENSE" in name for name in names_in(found[0])) and "docs" not in pattern:
            yield f"{found[0].name} must contain the licence"
    if PACKAGE.get("author") != "The Rushlight authors":
        yield 'js/package.json: author must be "The Rushlight authors"'


def main(folder, tag=None):
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True, check=True).stdout.strip()
    (folder / "RELEASE_NOTES.md").write_text(notes(released=bool(tag)))
    (folder / "sbom.cdx.json").write_text(json.dumps(sbom(commit), indent=2) + "\n")
    parts = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    (folder / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in parts))
    for part in parts:
        print(f"{part.stat().st_size:>12}  {part.name}")
    for name in SETTINGS:
        if not PACKAGE.get(name):
            print(f"missing: js/package.json has no {name}; the packages leave it out")
    found = list(faults(folder, tag))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
