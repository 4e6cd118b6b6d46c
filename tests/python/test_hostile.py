"""Files and programs that would do harm: each gives a message, and Python goes on."""

import json
import os
import signal
import struct
import subprocess
import sys

import pytest
import rushlight
import torch
from rushlight.base import native

NONE = 0xFFFFFFFF
TENSOR, ANY, LIST = 0, 1, 2


def rush_file(body, tensors=(), weights=b""):
    """A file with a method forward(x: Tensor) -> Any. body: (operator, operands) each with one result, of which the last is
    returned; operands are registers, x is 0. tensors: (name, dtype, sizes, strides), all on one storage of `weights`."""
    strings = ["forward", "x", "y", *sorted({op for op, _ in body}), *(name for name, *_ in tensors)]
    texts = [s.encode() for s in strings]
    offsets = [sum(len(t) + 1 for t in texts[:i]) for i in range(len(texts))]
    operands, instrs = [], []
    for i, (op, given) in enumerate(body):
        instrs.append(struct.pack("<4H4I", 0, len(given), 1, 0, strings.index(op) - 3, len(operands), NONE, NONE))
        operands += [*given, i + 1]
    instrs.append(struct.pack("<4H4I", 6, 1, 0, 0, NONE, len(operands), NONE, NONE))
    operands.append(len(body))
    n_ops = len(strings) - 3 - len(tensors)
    eight = lambda values: [*values, *[0] * (8 - len(values))]  # noqa: E731
    sections = {
        1: (1, b"".join(t + b"\0" for t in texts)),
        2: (8, b"".join(struct.pack("<2I", at, len(t)) for at, t in zip(offsets, texts))),
        3: (4, struct.pack("<I", ANY)),
        4: (16, struct.pack("<2H3I", 1, 0, 0, NONE, 0) + struct.pack("<2H3I", 12, 0, 0, NONE, 0) + struct.pack("<2H3I", 7, 1, 0, NONE, 0)),
        5: (16, struct.pack("<2Q", 0, len(weights)) if weights else b""),
        6: (152, b"".join(struct.pack("<BBH3IQ16q", dtype, len(sizes), 0, 0, strings.index(name), 0, 0, *eight(sizes), *eight(strides))
                          for name, dtype, sizes, strides in tensors)),
        8: (8, b"".join(struct.pack("<2I", 3 + i, NONE) for i in range(n_ops))),
        11: (16, struct.pack("<4I", 1, TENSOR, NONE, NONE) + struct.pack("<4I", 2, ANY, NONE, NONE)),
        12: (8, struct.pack("<2I", TENSOR, NONE) + struct.pack("<2I", LIST, NONE) * len(body)),
        13: (4, b"".join(struct.pack("<I", o) for o in operands)),
        14: (24, b"".join(instrs)),
        15: (40, struct.pack("<10I", 0, 0, 1, 1, 1, ANY, 0, len(instrs), 0, len(body) + 1)),
    }
    sections = {i: s for i, s in sections.items() if s[1]}
    out, table = b"", b""
    start = 64 + 24 * len(sections)
    for i, (width, data) in sections.items():
        out += bytes(-(start + len(out)) % 8)
        table += struct.pack("<2I2Q", i, len(data) // width, start + len(out), len(data))
        out += data
    out += bytes(-(start + len(out)) % 64)
    weights += bytes(-len(weights) % 64)
    head = struct.pack("<8s2I6Q", b"\x89RUSH\r\n\x1a", 1, len(sections), 0, start + len(out), len(weights), start + len(out) + len(weights), 0, 0)
    return head + table + out + weights


def grown(n, times=1):
    """Returns x in `times` nested lists."""
    return rush_file([("prim::ListConstruct", [0]), *(("prim::ListConstruct", [i + 1] * times) for i in range(n))])


def test_what_comes_out_is_plain():
    x = torch.ones(1)
    assert rushlight.load(grown(0))(x) == [x]
    deep, depth = rushlight.load(grown(900))(x), 0
    while isinstance(deep, list):
        deep, depth = deep[0], depth + 1
    assert depth == 901


HOSTILE = {
    "shares itself": (grown(40, 2), "too large"),
    "is nested without end": (grown(5000), "nested too deep"),
    "holds itself": (rush_file([("prim::ListConstruct", [0]), ("aten::append.t", [1, 1])]), "nested too deep"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_result_that_has_no_end_gives_a_message(name, tmp_path):
    data, message = HOSTILE[name]
    session = rushlight.load(data)
    for _ in range(2):
        with pytest.raises(rushlight.RushlightError, match=message):
            session(torch.ones(1))
    (tmp_path / "m.rush").write_bytes(data)
    rushlight.load_library()
    inside = torch.classes.rushlight.Interpreter(str(tmp_path / "m.rush"))
    with pytest.raises(RuntimeError, match=message):
        inside.call("forward", [torch.ones(1)])


def test_a_file_with_something_behind_its_end_is_refused(tmp_path):
    path = tmp_path / "m.rush"
    path.write_bytes(grown(1) + b"\x80\x02.")
    rushlight.load_library()
    for source in str(path), torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8):
        with pytest.raises(RuntimeError):
            torch.classes.rushlight.Interpreter(source)
    with pytest.raises(rushlight.RushlightError):
        rushlight.load(str(path))


@pytest.mark.parametrize("tensors", [
    [([2**61 + 4], [0])], [([2**40], [0])], [([2**20, 2**20], [0, 0])],
    [([2**26 - n], [0]) for n in range(3)],  # half a gigabyte each
])
def test_weights_that_are_larger_than_a_file_are_not_written_out(tmp_path, tensors):
    path, out = tmp_path / "m.rush", tmp_path / "out.safetensors"
    path.write_bytes(rush_file([("prim::ListConstruct", [0])], [(f"w{i}", 7, *t) for i, t in enumerate(tensors)], bytes(64)))
    done = subprocess.run(["rushlight", "inspect", str(path), "--weights", str(out)], capture_output=True, text=True)
    assert (done.returncode, out.exists()) == (1, False), done.stderr
    assert done.stderr.startswith("rushlight: ")


def test_names_of_weights_are_json(tmp_path):
    path, out = tmp_path / "m.rush", tmp_path / "out.safetensors"
    path.write_bytes(rush_file([("prim::ListConstruct", [0])], [('a"\\\n\x1b', 7, [2], [1])], bytes(64)))
    native.call("write_safetensors", path=str(path), to=str(out))
    data = out.read_bytes()
    assert list(json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])) == ['a"\\\n\x1b']


def test_views_under_one_name_are_written_once_each(tmp_path):
    path, out = tmp_path / "m.rush", tmp_path / "out.safetensors"
    tensors = [("w.1", 7, [1], [1]), *(("w", 7, [n], [1]) for n in (2, 3, 2, 4))]
    path.write_bytes(rush_file([("prim::ListConstruct", [0])], tensors, bytes(64)))
    native.call("write_safetensors", path=str(path), to=str(out))
    data = out.read_bytes()
    head = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    assert {name: t["shape"] for name, t in head.items()} == {"w": [2], "w.1": [1], "w.2": [3], "w.3": [4]}


def test_a_report_is_json_whatever_the_files_name_is(tmp_path):
    torch.jit.save(torch.jit.script(Viewed()), str(tmp_path / "m.pt"))
    done = subprocess.run(["rushlight", "export", "m.pt", "-o", b"a\xff\xe9\"\\\n\xc3\xa9.rush", "--input", "6", "--json"], capture_output=True, cwd=tmp_path)
    assert json.loads(done.stdout.decode())["path"] == 'a\ufffd\ufffd"\\\n\u00e9.rush', done.stderr


@torch.jit.script
def resized(x):
    y = x.view(-1)
    x.resize_([100000])
    x.fill_(1.0)
    return x.sum(), y


def test_an_input_that_the_program_resizes_is_written_back_from_where_it_is(tmp_path):
    rushlight.export(resized, (torch.zeros(4),), str(tmp_path / "m.rush"), test_vectors=False, verify=False)
    rushlight.load_library()
    inside = torch.classes.rushlight.Interpreter(str(tmp_path / "m.rush"))
    for _ in range(3):
        x = torch.zeros(4)
        total, view = inside.call("forward", [x])
        assert (total.item(), x.tolist(), view.tolist()) == (100000, [1] * 4, [1] * 4)


@torch.jit.script
def doubled(x):
    x.select(0, 0).mul_(2)
    return x.sum()


def test_what_is_written_through_a_part_of_an_expanded_input_is_written_back(tmp_path):
    rushlight.export(doubled, (torch.ones(2, 3),), str(tmp_path / "m.rush"), test_vectors=False, verify=False)
    rushlight.load_library()
    inside = torch.classes.rushlight.Interpreter(str(tmp_path / "m.rush"))
    base = torch.tensor([[1.0, 2, 3]])
    assert inside.call("forward", [base.expand(2, 3)]).item() == 24
    assert base.tolist() == [[2, 4, 6]]


# ---- Limits and Ctrl-C


@torch.jit.script
def counted(x, n: float):
    i = 0
    while bool(x.sum() > n):  # without end, where x is greater
        i += 1
    return i


@torch.jit.script
def summed(x, n: int):
    return x.expand(n, n, n).sum()


@pytest.fixture
def endless(tmp_path):
    rushlight.export(counted, (torch.zeros(1), 1.0), str(tmp_path / "loop.rush"))
    rushlight.export(summed, (torch.ones(1), 2), str(tmp_path / "sum.rush"))
    return tmp_path


def test_limits_end_what_does_not(endless):
    session = rushlight.load(str(endless / "loop.rush"), max_steps=10000)
    with pytest.raises(rushlight.RushlightError, match="10000 instructions") as e:
        session(torch.ones(1), 0.0)
    assert e.value.code == "interrupted"
    assert session(torch.zeros(1), 1.0) == 0
    with pytest.raises(rushlight.RushlightError) as e:
        rushlight.load(str(endless / "loop.rush"), max_bytes=1000)
    assert e.value.code == "out-of-memory"
    small = rushlight.Session(str(endless / "loop.rush"), max_bytes=10**6)
    with pytest.raises(rushlight.RushlightError) as e:
        small(torch.ones(10**6), 0.0)
    assert e.value.code == "out-of-memory"
    assert small(torch.zeros(1), 1.0) == 0
    with pytest.raises(ValueError, match="must be at least 0"):
        rushlight.load(str(endless / "loop.rush"), max_steps=-1)


def test_answers_do_not_depend_on_the_number_of_threads(tmp_path):
    x, file = torch.rand(1, 3, 40, 40), str(tmp_path / "m.rush")
    layers = torch.nn.Conv2d(3, 40, 3), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.LayerNorm(40 * 38 * 38)
    rushlight.export(torch.nn.Sequential(*layers).eval(), (x,), file)
    one = rushlight.load(file)(x)
    for n in 2, 5:
        assert torch.equal(rushlight.load(file, threads=n)(x), one)
    for n in 0, 65:
        with pytest.raises(ValueError, match=f"threads must be between 1 and 64, got {n}"):
            rushlight.load(file, threads=n)


def test_the_tool_has_the_same_limits(endless):
    def tool(*args):
        done = subprocess.run(["rushlight", *map(str, args)], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    path = endless / "loop.rush"
    rushlight.export(counted, (torch.zeros(1), 1.0), str(path), trace=True)
    for command in ("verify", "diff"):
        assert tool(command, path, "--max-bytes", 10**8, "--max-steps", 10**4)[0] == 0
        status, text = tool(command, path, "--max-steps", 2)
        assert status == 1 and "the run exceeds its limit of 2 instructions" in text
        status, text = tool(command, path, "--max-bytes", 1000)
        assert status == 1 and "memory" in text
        for wrong in ("0", "-1", "many"):
            status, text = tool(command, path, "--max-steps", wrong)
            assert status == 2 and f"--max-steps must be a whole number of at least 1, got '{wrong}'" in text


SESSION = "session = rushlight.load({path!r})"
LOWERED = """from rushlight.lower import wrap
rushlight.load_library()
session = wrap(torch.classes.rushlight.Interpreter({path!r}))"""


@pytest.mark.parametrize("made", [SESSION, LOWERED], ids=["session", "lowered"])
@pytest.mark.parametrize("name, args", [("loop", "torch.ones(1), 0.0"), ("sum", "torch.ones(1), 8000")])
def test_ctrl_c_ends_a_run(endless, name, args, made):
    """The run also stops inside one long operator."""
    lines = f"""
import rushlight, signal, torch
{made.format(path=str(endless / name) + ".rush")}
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell leaves out of what it starts behind it
try:
    print("running", flush=True)
    session({args})
except KeyboardInterrupt:
    print("ended")
print(session({"torch.zeros(1), 1.0" if name == "loop" else "torch.ones(1), 3"}))
"""
    with subprocess.Popen([sys.executable, "-c", lines], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "running\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=600)
    assert out.split() == ["ended", "0"] if name == "loop" else ["ended", "tensor(27.)"]


def test_an_error_says_where_it_was(tmp_path):
    rushlight.export(torch.jit.script(Viewed()), (torch.zeros(6),), str(tmp_path / "m.rush"))
    with pytest.raises(rushlight.RushlightError) as e:
        rushlight.load(str(tmp_path / "m.rush"))(torch.zeros(5))
    assert e.value.op == "aten::view"
    assert e.value.source == f"{os.path.relpath(__file__)}:{Viewed.forward.__code__.co_firstlineno + 1}"
    with pytest.raises(rushlight.RushlightError) as e:
        rushlight.load(str(tmp_path / "m.rush"))("x")
    assert (e.value.op, e.value.source) == (None, None)


class Viewed(torch.nn.Module):
    def forward(self, x):
        return x.view(2, 3)
