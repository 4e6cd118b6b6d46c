"""Names in a file never become code, a path or what a terminal obeys, at any entry of Python and of the tool."""

import json
import pathlib
import pickle
import subprocess
import unicodedata

import hostile_names
import pytest
import rushlight
import torch
from rushlight.base import native
from rushlight.lowered_source import is_word
from rushlight.lower import wrap

ROWS = [*((name, None) for name in hostile_names.NAMES), *(("op", op) for op in hostile_names.OPERATORS)]
IDS = [ascii((op or name)[:30]) for name, op in ROWS]


@pytest.fixture(params=ROWS, ids=IDS)
def row(request, tmp_path, monkeypatch):
    """Returns (path of the file, name, operator) in a folder in which no other file may appear."""
    name, op = request.param
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.rush"
    path.write_bytes(hostile_names.hostile(name, operator=op))
    yield path, name.split("\0")[0], op  # a name ends there
    assert {p.name for p in tmp_path.rglob("*")} <= {"m.rush", "out.safetensors"}
    assert not pathlib.Path("/tmp/OWNED").exists()


def loads(path):
    """Returns a session, or None if the file is refused with a message."""
    try:
        return rushlight.load(str(path))
    except rushlight.RushlightError as e:
        assert e.code in ("bad-file", "unsupported") and str(e)


def test_a_session(row):
    path, name, op = row
    session, x = loads(path), torch.tensor([-1.0, 2.0])
    if session is None:
        assert op
        return
    assert session.methods() == ["forward", name, "fails_0"] and session.inputs() == session.outputs() == [name]
    assert session(x).tolist() == session.run({name: x})[name].tolist() == [0, 2]
    first, other = session.call(name, x, x)
    assert first.tolist() == other.tolist() == [-1, 2]
    assert session.call("forward", **{name: x}).tolist() == [0, 2]
    assert list(session.state()) == [name]
    session.set_state({name: x * 2})
    assert session.clone().state()[name].tolist() == pickle.loads(pickle.dumps(session)).state()[name].tolist() == [-2, 4]
    session.reset()
    assert [r.compared for r in session.verify()] == [2]
    with pytest.raises(rushlight.RushlightError) as e:
        session.call("fails_0", x)
    assert e.value.source == (f"{name}:7" if name else None) or len(name.encode()) > 255
    with pytest.raises(TypeError):
        session()
    with pytest.raises(ValueError):
        session.call("no such method", x)
    with pytest.raises(ValueError):
        session.run({"no such input": x})
    plain(repr(session), "\t")


def test_an_interpreter_and_a_module_around_it(row):
    path, name, op = row
    rushlight.load_library()
    try:
        interpreter = torch.classes.rushlight.Interpreter(str(path))
    except RuntimeError:
        assert loads(path) is None
        return
    x = torch.tensor([-1.0, 2.0])
    assert interpreter.call("forward", [x]).tolist() == [0, 2] and interpreter.call(name, [x, x])[1].tolist() == [-1, 2]
    with pytest.raises(RuntimeError):
        interpreter.call("fails_0", [x])
    assert pickle.loads(pickle.dumps(interpreter)).methods() == interpreter.methods() == ["forward", name, "fails_0"]
    try:
        module = wrap(interpreter)
    except ValueError as e:
        assert "must have a name" in str(e) and str(e).isascii() and len(str(e)) < 1000
        return
    assert name.isidentifier()
    for run in module, torch.jit.script(module):
        assert run(x).tolist() == [0, 2]
        result = getattr(run, name)(x, x)
        assert [t.tolist() for t in result] == [[-1, 2]] * 2
    if is_word(name) and name != "input_1":
        assert module(**{name: x}).tolist() == [0, 2]
    assert isinstance(module.interpreter, torch.ScriptObject) and module.training is False and callable(module.train)
    plain(repr(module), "\n\t")


def test_a_description_and_a_comparison(row):
    path, name, op = row
    try:
        text = rushlight.describe(str(path))
    except rushlight.RushlightError:
        assert loads(path) is None
        return
    plain(text, "\n\t")
    described = json.loads(rushlight.describe(str(path), json=True))
    assert [m["name"] for m in described["methods"]] == ["forward", name, "fails_0"]
    with pytest.raises(rushlight.RushlightError):
        rushlight.diff(str(path))


def plain(text, allowed):
    """Checks that a text has no character that a terminal or an editor obeys."""
    wrong = {c for c in text if (unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in hostile_names.BIDI) and c not in allowed}
    assert not wrong, [hex(ord(c)) for c in wrong]


COMMANDS = [["inspect"], ["inspect", "--json"], ["inspect", "--graph"], ["inspect", "--code"], ["verify"], ["verify", "--json"], ["diff"],
            ["inspect", "--weights", "out.safetensors"]]


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """Writes a file with all names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.rush").write_bytes(hostile_names.hostile(*hostile_names.GOOD))
    yield "m.rush"
    assert {p.name for p in tmp_path.rglob("*")} <= {"m.rush", "out.safetensors"}


def tool(*arguments):
    done = subprocess.run(["rushlight", *arguments], capture_output=True)
    out, said = done.stdout.decode(), done.stderr.decode()
    plain(out, "\n\t")
    plain(said, "\n\t")
    return done.returncode, out, said


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_tool(whole, command):
    status, out, said = tool(command[0], whole, *command[1:])
    assert status == (command[0] == "diff"), said
    if "--json" in command:
        json.loads(out)
    if command == ["inspect"]:  # a name is on one line
        assert [line for line in out.splitlines() if line.startswith("method ")] == [f"method {shown(m)}" for m in rushlight.load(whole).methods()]


def shown(name):
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in hostile_names.BIDI else c for c in name)


@pytest.mark.parametrize("op", hostile_names.OPERATORS, ids=lambda op: ascii(op[:30]))
def test_the_tool_names_what_is_missing(tmp_path, op):
    (tmp_path / "m.rush").write_bytes(hostile_names.hostile("x", operator=op))
    status, _, said = tool("verify", str(tmp_path / "m.rush"))
    assert status == 1 and said.startswith("rushlight: ") and "this runtime lacks" in said
    assert all(line.startswith("  ") for line in said.splitlines()[1:])


def test_names_of_weights_are_data(row):
    path, name, op = row
    if loads(path) is None:
        return
    native.call("write_safetensors", path=str(path), to="out.safetensors")
    data = pathlib.Path("out.safetensors").read_bytes()
    assert name in json.loads(data[8:8 + int.from_bytes(data[:8], "little")]) or not name
