"""scripts/release.py: release notes, the list of components, checksums, and what is missing in a release."""

import hashlib
import importlib.util
import io
import json
import pathlib
import re
import tarfile
import zipfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def release(monkeypatch):
    spec = importlib.util.spec_from_file_location("release", TOP / "scripts" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def parts(tmp_path):
    """A folder with the packages of a release, each with a licence."""
    for name in ("rushlight-0.1.0.tgz", "rushlight-0.1.0-source.tar.gz", "rushlight-0.1.0-docs.tar.gz"):
        with tarfile.open(tmp_path / name, "w:gz") as archive:
            archive.addfile(tarfile.TarInfo("package/LICENSE"), io.BytesIO())
    with zipfile.ZipFile(tmp_path / "rushlight-0.1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("rushlight-0.1.0.dist-info/licenses/LICENSE", "")
    return tmp_path


def test_a_complete_release_has_notes_components_and_checksums(release, parts, capsys):
    assert release.main(parts) == 0
    listed = dict(reversed(line.split("  ")) for line in (parts / "SHA256SUMS").read_text().splitlines())
    assert set(listed) == {path.name for path in parts.iterdir()} - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256((parts / name).read_bytes()).hexdigest() == digest
    out = capsys.readouterr().out
    assert [name for name in release.SETTINGS if f"js/package.json has no {name};" in out] == [
        name for name in release.SETTINGS if not release.PACKAGE.get(name)]
    first = {path.name: path.read_bytes() for path in parts.iterdir()}
    assert release.main(parts) == 0
    assert first == {path.name: path.read_bytes() for path in parts.iterdir()}


def test_what_is_missing_is_named(release, parts, capsys):
    (parts / "rushlight-0.1.0.tgz").unlink()
    with tarfile.open(parts / "rushlight-0.1.0-source.tar.gz", "w:gz"):
        pass
    assert release.main(parts) == 1
    out = capsys.readouterr().out
    assert "there must be one rushlight-*.tgz, found 0" in out
    assert "rushlight-0.1.0-source.tar.gz must contain the licence" in out


def test_a_tag_refuses_what_a_dry_run_lists(release, parts, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(release, "notes", lambda released: "- One.\n")
    monkeypatch.setattr(release, "PACKAGE", {**release.PACKAGE, "repository": "", "homepage": "there", "bugs": "there"})
    assert release.main(parts, "v9.9.9") == 1
    out = capsys.readouterr().out
    assert f"the tag must be v{release.PACKAGE['version']}, as js/package.json says, got v9.9.9" in out
    assert "js/package.json must have a repository" in out and "must have a homepage" not in out


def test_notes_are_those_of_the_version_or_of_what_is_not_released(release, tmp_path, monkeypatch):
    monkeypatch.setattr(release, "TOP", tmp_path)
    version = release.PACKAGE["version"]
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(f"# Changelog\n\n## [Unreleased]\n\n## [{version}] - 2026-01-01\n\n### Added\n\n- One.\n\n## [0.0.1]\n\n- Old.\n")
    assert release.notes() == "### Added\n\n- One.\n"
    changelog.write_text("# Changelog\n\n## [Unreleased]\n\n- New.\n")
    assert release.notes() == "- New.\n"
    changelog.write_text("# Changelog\n\n## [Unreleased]\n")
    with pytest.raises(ValueError, match="must have a section"):
        release.notes()
    changelog.write_text("# Changelog\n\n## [Unreleased]\n\n- New.\n")
    with pytest.raises(ValueError, match="must have a section"):
        release.notes(released=True)


def test_the_bill_of_materials_is_that_of_the_notices(release):
    bom = json.loads(json.dumps(release.sbom("0" * 40)))
    assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"] == "1.6"
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}", bom["serialNumber"])
    assert bom != release.sbom("1" * 40)
    assert all(part["version"] and part["purl"].startswith("pkg:") for part in bom["components"])
    # THIRD_PARTY_NOTICES lists name, description and licence of what the binaries contain.
    notices = (TOP / "THIRD_PARTY_NOTICES").read_text()
    listed = {name.lower() for name in re.findall(r"^  ([\w-]+)  +\S", notices, flags=re.M)}
    assert {part["name"].lower() for part in bom["components"]} == listed
