"""Exports models, runs them natively and compares with PyTorch. Also checks the messages of refusals."""

import json
import os
import subprocess

import models
import numpy as np
import pytest
import rushlight
import torch


def files(folder):
    return sorted(os.listdir(folder))


def test_a_network_is_verified(out):
    report = rushlight.export(models.Net(), torch.rand(1, 3, 8, 8), out)
    assert report.verified == 1 and report.max_abs < 1e-5
    assert "verified  against PyTorch on 1 input:" in str(report)
    session = rushlight.load(out)
    assert len(session.verify()) == report.test_vectors == 1
    x = torch.rand(1, 3, 8, 8)
    net = torch.jit.load(save(torch.jit.script(models.Mlp()), out + ".pt"))
    assert net is not None
    assert session.inputs() == ["x"] and session.run({"x": x}).keys() == {"output"}


def save(module, path):
    module.save(path)
    return path


def test_a_shared_example_is_traced_and_not_changed(out):
    net = models.Net()
    assert net.training
    x = torch.rand(1, 3, 8, 8)
    before = x.clone()
    rushlight.export(net, x, out)
    assert net.training and net.drop.training and torch.equal(x, before)


def test_without_inputs_it_says_not_verified(out):
    report = rushlight.export(torch.jit.script(models.Mlp()), None, out)
    assert report.verified == 0 and "not verified: no example inputs" in str(report)


def test_scripted_functions_run_every_branch(out):
    f = torch.jit.script(models.branch)
    rushlight.export(f, None, out)
    session = rushlight.load(out)
    x = torch.rand(3)
    for flag in (True, False):
        for n in (0, 1, 5):
            torch.testing.assert_close(session(x, flag, n), models.branch(x, flag, n))
    torch.testing.assert_close(session(x), models.branch(x))


class Fused(torch.nn.Module):
    def __init__(self, layer, before=lambda x: x, after=lambda y: y):
        super().__init__()
        self.layer, self.before, self.after = layer, before, after

    def forward(self, x):
        return self.after(self.layer(self.before(x)))


C1, C2, F = torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.functional
FUSED = [
    ("conv2d", lambda: Fused(C2(3, 5, 3, stride=2, padding=1), after=torch.relu), (2, 3, 7, 9), 1),
    ("conv2d without a batch", lambda: Fused(C2(3, 5, 3), after=torch.relu), (3, 7, 9), 4),  # traced with unsqueeze and squeeze
    ("conv2d padded on one side", lambda: Fused(C2(3, 4, 3, stride=2), lambda x: F.pad(x, (0, 1, 2, 0)), F.relu6), (1, 3, 8, 8), 1),
    ("conv2d padded twice", lambda: Fused(C2(3, 4, 3, padding=(1, 0)), lambda x: F.pad(x, (1, 2))), (1, 3, 6, 5), 1),
    ("conv2d same", lambda: Fused(C2(2, 3, (4, 2), padding="same", dilation=(1, 3)), after=lambda y: y.clamp(-0.1, 0.2)), (1, 2, 9, 9), 1),
    ("conv2d with groups", lambda: Fused(C2(4, 6, 3, groups=2), after=lambda y: F.hardtanh(y)), (1, 4, 6, 6), 1),
    ("depthwise with a multiplier", lambda: Fused(C2(4, 8, 3, groups=4, bias=False), after=torch.relu), (1, 4, 6, 6), 1),
    ("conv1d", lambda: Fused(C1(3, 4, 5, padding=2, dilation=2), after=lambda y: y.clamp_min(0.1)), (2, 3, 17), 1),
    ("conv1d same", lambda: Fused(C1(3, 4, 4, padding="same"), after=torch.relu), (2, 3, 17), 1),
    ("circular padding", lambda: Fused(C2(3, 4, 3, padding=1, padding_mode="circular"), after=torch.relu), (1, 3, 6, 6), 2),
    ("linear", lambda: Fused(torch.nn.Linear(5, 3), after=torch.relu), (2, 4, 5), 1),
    ("linear of a vector", lambda: Fused(torch.nn.Linear(5, 3, bias=False), after=torch.relu), (5,), 1),
]


@pytest.mark.parametrize("name,make,size,n_ops", FUSED, ids=[row[0] for row in FUSED])
def test_fused_is_equal_also_for_nan_and_infinity(out, name, make, size, n_ops):
    x = torch.randn(size)
    model = make()
    report = rushlight.export(model, x, out)
    fused = [op for op in report.ops if op.startswith("rush::")]
    assert len(fused) == 1 and sum(report.ops.values()) == n_ops, report.ops
    x.view(-1)[3], x.view(-1)[-1] = float("nan"), float("inf")
    with torch.no_grad():
        want = model(x)
    torch.testing.assert_close(rushlight.load(out)(x), want, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_nested_loops(out):
    rushlight.export(torch.jit.script(models.nested), (torch.rand(2), 9), out)
    session = rushlight.load(out)
    x = torch.rand(2)
    for n in range(12):
        want, got = models.nested(x, n), session(x, n)
        assert got[1] == want[1]
        torch.testing.assert_close(got[0], want[0])


def test_containers_come_back_as_they_are(out):
    args = (torch.rand(2), [1, 2], {"a": torch.rand(2)}, torch.rand(2))
    rushlight.export(torch.jit.script(models.containers), args, out)
    got, want = rushlight.load(out)(*args), models.containers(*args)
    assert list(got) == ["out"]
    torch.testing.assert_close(got["out"], want["out"])


def test_state_persists_and_can_be_reset(out):
    rushlight.export(torch.jit.script(models.Counter()), torch.ones(2), out, methods=["forward", "reset"])
    session, model, x = rushlight.load(out), models.Counter(), torch.tensor([1.0, 2.0])
    for _ in range(3):
        torch.testing.assert_close(session(x), model(x))
    assert session.call("reset") is None
    model.reset()
    torch.testing.assert_close(session(x), model(x))
    session.reset()
    torch.testing.assert_close(session(x), models.Counter()(x))
    torch.testing.assert_close(rushlight.load(out)(x), models.Counter()(x))


def test_a_fill_through_a_view_is_seen(out):
    args = (torch.rand(6), torch.tensor([True, False]))
    report = rushlight.export(torch.jit.script(models.lost_fill), args, out)
    assert report.verified == 1


def test_a_wrong_answer_leaves_no_file(out, tmp_path):
    x = torch.rand(2, 4)
    scripted = torch.jit.script(models.Mlp())
    with pytest.raises(RuntimeError, match=r"differs from PyTorch: output 'output': 6 of 6 elements differ.*max abs"):
        rushlight.export(scripted, None, out, tests=[((x,), scripted(x) + 1)])
    assert files(tmp_path) == []
    with pytest.raises(RuntimeError, match=r"float32\[2, 3\] instead of float64\[2, 3\]"):
        rushlight.export(scripted, None, out, tests=[((x,), scripted(x).double())])
    assert files(tmp_path) == []


def test_a_failed_export_keeps_the_old_file(out, tmp_path):
    rushlight.export(torch.jit.script(models.Mlp()), torch.rand(2, 4), out)
    with open(out, "rb") as f:
        before = f.read()
    with pytest.raises(RuntimeError):
        rushlight.export(torch.jit.script(models.Mlp()), None, out, tests=[((torch.rand(2, 4),), torch.ones(2, 3))])
    with open(out, "rb") as f:
        assert f.read() == before
    assert files(tmp_path) == ["model.rush"]


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    folder = tmp_path / "no" / "where"
    with pytest.raises(RuntimeError) as e:
        rushlight.export(torch.jit.script(models.Mlp()), None, folder / "m.rush")
    assert str(e.value) == f"{folder}/m.rush could not be written: there is no folder {folder}"


def test_missing_operators_are_listed_at_once(out, tmp_path):
    with pytest.raises(rushlight.RushlightError) as e:
        rushlight.export(torch.jit.script(models.unknown_operators), None, out)
    assert e.value.code == "unsupported"
    text = str(e.value)
    assert "the runtime lacks 2 operators of this model:" in text
    assert "aten::to_mkldnn, 2 times, at" in text and "aten::smm, 1 time, at" in text
    line = models.unknown_operators.__code__.co_firstlineno
    for n in (1, 2, 3):
        assert f"models.py:{line + n}" in text
    assert files(tmp_path) == []
    report = rushlight.export(torch.jit.script(models.unknown_operators), None, out, allow_missing=True)
    assert report.missing == {"aten::to_mkldnn": 2, "aten::smm": 1}
    with pytest.raises(rushlight.RushlightError, match="aten::to_mkldnn, aten::smm") as e:
        rushlight.load(out)
    assert e.value.code == "unsupported"


@pytest.mark.parametrize("call,error,message", [
    (lambda out: rushlight.export(models.Mlp(), None, out), ValueError, "example_inputs must be given"),
    (lambda out: rushlight.export(models.Mlp(), torch.rand(1, 4)), ValueError, "path must be"),
    (lambda out: rushlight.export(models.Mlp(), torch.rand(1, 4), out, output_names="y"), ValueError, r"output_names must be a list of names, got the string 'y': give \['y'\]"),
    (lambda out: rushlight.export(models.Mlp(), torch.rand(1, 4), out, methods="forward"), ValueError, "methods must be a list of names"),
    (lambda out: rushlight.export(3, None, out), TypeError, "cannot export an object of type int"),
    (lambda out: rushlight.export(models.Mlp, (torch.rand(1, 4),), out), TypeError, r"cannot export the class Mlp: export an instance of it, Mlp\(...\)"),
    (lambda out: rushlight.export(models.Mlp().state_dict(), (torch.rand(1, 4),), out), TypeError, r"load_state_dict\(\)"),
    (lambda out: rushlight.export("no.pt", None, out), rushlight.RushlightError, "no.pt cannot be read: No such file"),
    (lambda out: rushlight.export(torch.jit.script(models.Counter()), None, out, methods=["step"]), ValueError,
     "no method 'step'; it has forward, reset"),
    (lambda out: rushlight.export(torch.jit.script(models.Mlp()), None, out, inputs=["y=2x4"]), ValueError,
     "there is no input 'y'; the model's inputs are x"),
    (lambda out: rushlight.export(torch.jit.script(models.Mlp()), None, out, inputs=["x=2x4:float33"]), ValueError,
     "'float33' is not a dtype"),
    (lambda out: rushlight.export(torch.jit.script(models.branch), None, out, inputs=["2", "flag=4"]), ValueError,
     "input 'flag' must be of type bool, got '4'"),
    (lambda out: rushlight.export(torch.jit.script(models.Mlp()), None, out, dump_after="no"), ValueError,
     r"the name must be one of a pass or a stage \(prepare: decompose_custom, canonicalize, .*; late: .*\), got 'no'"),
])
def test_refusals_say_what_to_do(out, tmp_path, call, error, message):
    with pytest.raises(error, match=message):
        call(out)
    assert files(tmp_path) == []


def test_tracer_warnings_are_passed_on(out):
    def f(x):
        return x + 1 if x.sum() > 0 else x - 1

    report = rushlight.export(f, torch.ones(2), out)
    assert any("Converting a tensor to a Python boolean" in w and "test_export.py" in w for w in report.warnings)
    assert "Converting a tensor" in str(report)


def test_dynamic_sizes_are_verified_too(out):
    report = rushlight.export(models.Mlp(), torch.rand(2, 4), out, dynamic_shapes={"x": {0: "N"}})
    assert report.verified == 4 and report.verified_sizes == ["x [3, 4]", "x [4, 4]", "x [1, 4]"]
    report = rushlight.export(models.Mlp(), torch.rand(2, 4), out, dynamic_shapes={"x": {1: "N"}})
    assert report.verified == 1 and "PyTorch itself refuses sizes other than the example's (x [2, 5]): " in str(report)
    with pytest.raises(ValueError, match="'x' has no dimension 2"):
        rushlight.export(models.Mlp(), torch.rand(2, 4), out, dynamic_shapes={"x": {2: "N"}})
    with pytest.raises(ValueError, match="there is no input 'y'"):
        rushlight.export(models.Mlp(), torch.rand(2, 4), out, dynamic_shapes={"y": {0: "N"}})


def test_a_size_that_was_specialized_is_found(out):
    def f(x):
        return x + torch.ones(x.shape[0]).numpy().sum()

    with pytest.raises(RuntimeError, match="differs from PyTorch"):
        rushlight.export(f, torch.zeros(2, 4), out, dynamic_shapes={"x": {0: "N"}})


def test_no_grad_changes_nothing(out):
    report = rushlight.export(torch.jit.script(models.WithoutGradients()), torch.rand(3), out)
    assert report.verified == 1 and set(report.ops) == {"aten::mul.Scalar", "aten::add.Scalar"}


def test_objects_of_the_program_have_the_same_bytes_each_time(out, tmp_path):
    model = torch.jit.script(models.makes_an_object)
    tests = [((torch.rand(2), n), None) for n in (0, 1)]
    assert rushlight.export(model, None, out, tests=tests).verified == 2
    rushlight.export(model, None, tmp_path / "again.rush", tests=tests)
    assert (tmp_path / "again.rush").read_bytes() == open(out, "rb").read()


def test_a_dtype_that_the_runtime_lacks_is_refused(out, tmp_path):
    class Indexed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = models.Mlp()
            self.register_buffer("u", torch.ones(2, dtype=torch.uint16))

        def forward(self, x):
            return self.net(x), self.u

    model = torch.jit.script(Indexed())
    with pytest.raises(rushlight.RushlightError, match="has dtype uint16, which is not supported"):
        rushlight.export(model, None, out)
    assert files(tmp_path) == []


def test_sessions_refuse_what_does_not_fit(out):
    rushlight.export(models.Mlp(), torch.rand(2, 4), out)
    session = rushlight.load(out)
    with pytest.raises(ValueError, match="no input 'y'; the inputs are x"):
        session.run({"y": torch.rand(2, 4)})
    with pytest.raises(rushlight.RushlightError) as e:
        session(torch.rand(2, 5))
    assert e.value.code == "bad-argument"
    with pytest.raises(ValueError, match="no method 'step'; it has forward"):
        session.call("step")
    with pytest.raises(TypeError, match="set cannot be passed"):
        session({1})
    assert session(torch.rand(2, 4)).shape == (2, 3)  # still usable


def test_weights_come_back_bit_for_bit(out, tmp_path):
    net = models.Net()
    net.bn = torch.nn.Identity()
    with torch.no_grad():
        net.conv.weight[0, 0, 0, 0] = float("nan")
        net.conv.weight[0, 0, 0, 1] = -0.0
    rushlight.export(net, torch.rand(1, 3, 8, 8), out)
    target = str(tmp_path / "w.safetensors")
    run("inspect", out, "--weights", target)
    with open(target, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8:8 + n]), data[8 + n:]
    state = net.state_dict()
    assert set(header) == set(state)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["shape"] == list(state[name].shape) and entry["dtype"] == "F32"
        assert body[begin:end] == state[name].numpy().tobytes()


def run(*args, code=0):
    done = subprocess.run(["rushlight", *args], capture_output=True, text=True, timeout=1800)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_the_tool_exports_inspects_and_verifies(out, tmp_path):
    path = save(torch.jit.script(models.Net()), str(tmp_path / "net.pt"))
    np.save(tmp_path / "x.npy", np.random.rand(1, 3, 8, 8).astype(np.float32))
    for spec in ("x=Nx3x8x8", "1x3x8x8:float32:0..1", f"@{tmp_path}/x.npy"):
        assert "verified  against PyTorch on" in run("export", path, "-o", out, "--input", spec, "--output-names", "scores")
    assert "rush::conv" in run("inspect", out)
    text = json.loads(run("inspect", out, "--json"))
    text = text["methods"][0] if "methods" in text else text
    assert text["inputs"][0]["name"] == "x" and text["inputs"][0]["shape"] == [1, 3, 8, 8]
    (scores,) = text["outputs"]
    assert (scores["name"], scores["dtype"], scores["shape"]) == ("scores", "float32", [1, 4])
    assert "ok" in run("verify", out)


def product(x, y):
    return x * y


def test_the_tool_verifies_with_further_inputs(out, tmp_path):
    path = save(torch.jit.script(models.Net()), str(tmp_path / "net.pt"))
    np.save(tmp_path / "x.npy", np.random.rand(2, 3, 8, 8).astype(np.float32))
    given = ("export", path, "-o", out, "--input", "1x3x8x8", "--no-test-vectors")
    assert "PyTorch on 1 input:" in run(*given)
    report = run(*given, "--test-input", f"x=@{tmp_path}/x.npy", "--test-input", "4x3x8x8")
    assert "PyTorch on 3 inputs:" in report and "test_inputs takes real ones" not in report
    two = save(torch.jit.script(product), str(tmp_path / "two.pt"))
    given = ("export", two, "-o", out, "--input", "3", "--input", "3", "--no-test-vectors")
    assert "PyTorch on 2 inputs:" in run(*given, "--test-input", "y=1", "--test-input", "x=5")
    assert "must be given 2 times for each example, as --input is, got 3" in run(*given, *["--test-input", "3"] * 3, code=1)
    assert "input 'x' is given twice" in run(*given, "--test-input", "x=3", "--test-input", "x=3", code=1)
    assert "needs --input" in run("export", path, "-o", out, "--test-input", "3", code=2)


def test_the_tool_counts_in_words(out, tmp_path):
    path = save(torch.jit.trace(torch.nn.Flatten(0), torch.ones(1)), str(tmp_path / "m.pt"))
    report = run("export", path, "-o", out, "--input", "1")
    assert "tests     1 test vector stored\n" in report and "against PyTorch on 1 input: max abs" in report
    assert "tensors: 3, those of test vectors among them\ntest vectors: 1\n" in run("inspect", out)
    assert "test vector 0: ok, 1 value, max abs 0" in run("verify", out)
    assert run("diff", out, "--torch", path, "--input", "1").startswith("1 value agrees with PyTorch's")


@pytest.mark.parametrize("compiled", [torch.jit.script, lambda net: torch.jit.trace(net, torch.rand(1, 3, 8, 8))])
def test_the_tool_says_what_pytorch_refuses(out, tmp_path, compiled):
    """The message does not contain PyTorch's traceback."""
    path = save(compiled(models.Net().eval()), str(tmp_path / "net.pt"))
    shape = "expected input[1, 4, 8, 8] to have 3 channels, but got 4 channels instead\n"
    says = run("export", path, "-o", out, "--input", "1x4x8x8", code=1)
    assert says.startswith("rushlight: PyTorch runs the model with x=<float32[1, 4, 8, 8] random 1> and says: Given groups=1")
    assert says.endswith(shape) and says.count("\n") == 1
    run("export", path, "-o", out, "--input", "1x3x8x8")
    says = run("diff", out, "--torch", path, "--input", "1x4x8x8", code=1)
    assert says.startswith("rushlight: PyTorch runs") and says.endswith(shape) and says.count("\n") == 1


class Positive(torch.nn.Module):
    def forward(self, x):
        if x.min() < 0:
            raise ValueError("x must be positive")
        return x + 1


def test_the_tool_says_what_the_program_raises(out, tmp_path):
    path = save(torch.jit.script(Positive()), str(tmp_path / "m.pt"))
    says = run("export", path, "-o", out, "--input", "2:float32:-2..-1", code=1)
    assert says == "rushlight: PyTorch runs the model with x=<float32[2] random 1> and says: x must be positive\n"


def test_the_tool_takes_numbers_and_several_methods(out, tmp_path):
    path = save(torch.jit.script(models.Counter()), str(tmp_path / "c.pt"))
    run("export", path, "-o", out, "--method", "forward", "--method", "reset", "--input", "2")
    assert rushlight.load(out).methods() == ["forward", "reset"]


def test_the_tool_prints_a_graph_after_a_pass(out, tmp_path):
    path = save(torch.jit.script(models.Net()), str(tmp_path / "net.pt"))
    text = run("export", path, "-o", out, "--dump-after", "drop_identities")
    assert "forward: graph(%x" in text and "aten::conv2d" in text and "dropout" not in text


def test_the_json_of_a_report_has_all_of_its_fields(out, tmp_path):
    net = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(64, 64)))
    path = save(net, str(tmp_path / "net.pt"))
    told = json.loads(run("export", path, "-o", out, "--input", "1x64", "--quantize", "int8", "--json"))
    report = rushlight.export(net, torch.rand(1, 64), out, quantize="int8", dynamic_shapes={"input": {0: torch.export.Dim("n")}})
    fields = vars(report)
    assert set(fields) - set(told) == {"text", "route", "notes"} and set(told) <= set(fields)  # Python adds these three
    assert set(told["quantized"]) == set(report.quantized) and told["quantized"]["layers"] == 1
    assert told["verified_sizes"] == [] and report.verified_sizes and all(f"{sizes}" in str(report) for sizes in report.verified_sizes)
    assert told["real_inputs"] is False and told["quantized"]["rows"] is None and report.rushlight == fields["rushlight"]


def test_the_program_is_printed_after_each_run_of_a_pass_and_after_a_stage(out, capsys):
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Dropout()).eval()

    def dumped(name):
        rushlight.export(net, torch.rand(1, 64), out, quantize="int8", dump_after=name)
        return capsys.readouterr().out.split("forward: ")[1:]

    first, second = dumped("canonicalize")  # in the stages prepare and lower
    assert "aten::linear(" in first and "aten::linear(" in second
    before, after = dumped("lower"), dumped("quantize")
    assert len(before) == len(after) == 1
    assert "rush::linear(" in before[0] and "rush::linear_int8(" in after[0]


@pytest.fixture
def others(tmp_path):
    """Files that could be mistaken for a .rush file or for TorchScript."""
    torch.jit.save(torch.jit.script(models.Net()), str(tmp_path / "net.pt"))
    torch.save(models.Net().state_dict(), str(tmp_path / "weights.pth"))
    torch.save({"w": torch.ones(2)}, str(tmp_path / "old.pth"), _use_new_zipfile_serialization=False)
    head = b'{"w":{"dtype":"F32","shape":[20],"data_offsets":[0,80]}}'
    (tmp_path / "w.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(80))
    (tmp_path / "m.onnx").write_bytes(b"\x08\x07\x12\x07pytorch" + bytes(80))
    rushlight.export(models.Net(), (torch.rand(1, 3, 8, 8),), str(tmp_path / "net.rush"))
    return tmp_path


@pytest.mark.parametrize("name,says", [
    ("net.pt", "a PyTorch file"), ("weights.pth", "a PyTorch file"), ("old.pth", "a PyTorch file"),
    ("w.safetensors", "a .safetensors file"), ("m.onnx", "an ONNX model"),
])
def test_another_file_is_named_where_a_rush_file_is_wanted(others, name, says):
    path = str(others / name)
    says = f"this is {says}, not a .rush file. rushlight.export() writes a .rush file"
    assert says in run("inspect", path, code=1)
    with pytest.raises(rushlight.RushlightError, match="not a .rush file") as e:
        rushlight.load(path)
    assert says in str(e.value) and path in str(e.value) and e.value.code == "bad-file"
    with pytest.raises(rushlight.RushlightError, match="not a .rush file") as e:
        rushlight.Session((others / name).read_bytes())
    assert says in str(e.value)


@pytest.mark.parametrize("name,says", [
    ("net.rush", "is a .rush file already"), ("weights.pth", "was written by torch.save"), ("old.pth", "was written by torch.save"),
    ("w.safetensors", "is a .safetensors file, which holds tensors and no program"), ("m.onnx", "is an ONNX model"),
])
def test_another_file_is_named_where_torchscript_is_wanted(others, out, name, says):
    path = str(others / name)
    assert says in run("export", path, "-o", out, code=1)
    with pytest.raises(rushlight.RushlightError) as e:
        rushlight.export(path, path=out)
    assert says in str(e.value)


@pytest.mark.parametrize("args,code,message", [
    ([], 2, "a command must be given"),
    (["swim"], 2, "there is no command 'swim'"),
    (["run", "m.rush"], 1, "m.rush cannot be read: No such file or directory"),
    (["export", "m.pt"], 2, "export needs -o"),
    (["export", "m.pt", "-o", "m.rush", "--colour"], 2, "--colour is unknown"),
    (["export", "no.pt", "-o", "m.rush"], 1, "no.pt"),
    (["export", "models.py", "-o", "m.rush"], 1, "is not a TorchScript file"),
    (["inspect", "models.py"], 1, "not a .rush file"),
    (["export", "m.pt", "-o", "m.rush", "--load-library", "./no.so"], 1, "no.so"),
    (["inspect", "m.rush", "--layers"], 2, "--layers is an option of inspect in the npm package's tool"),
])
def test_the_tool_says_what_is_wrong_in_one_line(args, code, message):
    args = [os.path.join(os.path.dirname(__file__), a) if a == "models.py" else a for a in args]
    text = run(*args, code=code)
    assert message in text and len(text.strip().splitlines()) == 1, text


def test_every_public_name_is_there():
    assert all(callable(getattr(rushlight, name)) for name in rushlight.__all__)
