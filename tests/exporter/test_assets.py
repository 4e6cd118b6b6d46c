"""Assets: files for the application that lie in a .rush file."""

import hashlib
import json
import pathlib
import subprocess

import numpy as np
import pytest
import reader
import rushlight
import torch


def export(out, assets, **options):
    return rushlight.export(torch.nn.Linear(3, 2), (torch.randn(1, 3),), out, assets=assets, **options)


def test_assets_come_back_in_python_and_in_the_second_reader(out, tmp_path):
    path = tmp_path / "given.bin"
    path.write_bytes(b"from a file" * 1000)
    contents = {"z": b"\0\1\2", "labels.txt": "cat\ndög\n".encode(), "empty": b"", "given": path.read_bytes(), "ä" * 127: b"long"}
    given = {**contents, "labels.txt": "cat\ndög\n", "given": path, "z": bytearray(contents["z"])}
    report = export(out, given)
    with open(out, "rb") as f:
        file = f.read()
    for source in out, pathlib.Path(out), file:
        session = rushlight.load(source)
        assert session.assets() == sorted(contents, key=str.encode)
        assert {name: session.asset(name) for name in session.assets()} == contents
        assert session.clone().asset("given") == contents["given"]
    m = reader.read(out)
    assert {name: bytes(data) for name, data in m.assets.items()} == contents
    assert report.file_bytes == len(file)
    assert report.weights_bytes == export(str(tmp_path / "plain.rush"), None).weights_bytes


def test_the_answers_and_bytes_do_not_depend_on_the_order(out, tmp_path):
    module, x = torch.nn.Linear(3, 2), torch.randn(1, 3)
    again = str(tmp_path / "again.rush")
    for path, names in (out, "ab"), (again, "ba"):
        rushlight.export(module, (x,), path, assets={name: name for name in names})
    assert pathlib.Path(out).read_bytes() == pathlib.Path(again).read_bytes()
    np.testing.assert_allclose(rushlight.load(out)(x).detach(), module(x).detach(), rtol=1e-6)


def tool(*arguments):
    return subprocess.run(["rushlight", *arguments], capture_output=True, text=True, check=True).stdout


def test_inspect_lists_them(out):
    export(out, {"labels.txt": "cat\n", "b\x1b[31m": b""})
    text = tool("inspect", out)
    assert "  labels.txt : 4 bytes\n" in text and "\x1b" not in text
    assets = json.loads(tool("inspect", out, "--json"))["assets"]
    assert [(a["name"], a["bytes"]) for a in assets] == [("b\x1b[31m", 0), ("labels.txt", 4)]
    assert assets[1]["sha256"] == hashlib.sha256(b"cat\n").hexdigest()
    data = pathlib.Path(out).read_bytes()
    assert data[assets[1]["offset"]:][:4] == b"cat\n"


def test_the_tool_stores_files(out, tmp_path):
    torch.jit.script(torch.nn.ReLU()).save(str(tmp_path / "m.pt"))
    (tmp_path / "labels.txt").write_text("cat\n")
    tool("export", str(tmp_path / "m.pt"), "-o", out, "--input", "3", "--asset", str(tmp_path / "labels.txt"),
         "--asset", f"other={tmp_path}/labels.txt")
    session = rushlight.load(out)
    assert session.assets() == ["labels.txt", "other"] and session.asset("other") == b"cat\n"


@pytest.mark.parametrize("assets, message", [
    ({"": b""}, "the name of an asset must have 1 to 255 bytes, got 0"),
    ({"n" * 256: b""}, "the name of an asset must have 1 to 255 bytes, got 256"),
    ({1: b""}, "the name of an asset must be a str, got 1"),
    ({"a": 1}, "the asset 'a' must be bytes, a str with its text, or a pathlib.Path, got int"),
    ([("a", b"")], "assets must be a dict of contents by name, got list"),
    ({str(i): b"" for i in range(4097)}, "the assets must be at most 4096, got 4097"),
])
def test_wrong_assets_are_refused(out, assets, message):
    with pytest.raises(ValueError, match=message):
        export(out, assets)
    assert not pathlib.Path(out).exists()


def test_a_file_that_does_not_exist(out):
    with pytest.raises(FileNotFoundError):
        export(out, {"a": pathlib.Path("/nowhere/labels.txt")})


def test_other_names_and_damaged_bytes_are_refused(out):
    export(out, {"labels.txt": "cat\n"})
    session = rushlight.load(out)
    with pytest.raises(ValueError, match="the file has no asset 'labels'; it has labels.txt"):
        session.asset("labels")
    data = pathlib.Path(out).read_bytes()
    pathlib.Path(out).write_bytes(data.replace(b"cat\n", b"cow\n"))
    for damaged in session, rushlight.load(out), rushlight.load(data.replace(b"cat\n", b"cow\n")):
        with pytest.raises(rushlight.RushlightError, match="the asset 'labels.txt' must have the SHA-256") as error:
            damaged.asset("labels.txt")
        assert error.value.code == "bad-file"


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000])
def test_the_digest_is_sha256(out, size):
    data = bytes(i * 7 % 256 for i in range(size))
    export(out, {"a": data}, verify=False)
    assert rushlight.load(out).asset("a") == data
