"""Uses a lowered model inside PyTorch: in Python, scripted, traced, copied, saved, and loaded elsewhere."""

import copy
import os
import sys
import threading

import lowered_models as models
import pytest
import rushlight
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing import assert_close

SCRIPTED = [
    ("structures", (torch.ones(2), {"a": torch.ones(2)}, (torch.ones(2), 3), [torch.ones(2), torch.ones(1, 2)])),
    ("structures", (torch.ones(2), {"a": torch.ones(2)}, (torch.ones(2), 3), [], 4.0, torch.ones(2))),
    ("named", (torch.ones(2),)),
    ("maybe", (torch.ones(2), True)),
    ("maybe", (torch.ones(2), False)),
    ("nothing", (torch.ones(2),)),
    ("number", (torch.ones(2),)),
    ("halves", (torch.arange(4.0),)),
]


def scripted_function(name):
    return torch.jit.script(getattr(models, name))


@pytest.mark.parametrize("name,args", SCRIPTED, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SCRIPTED)])
@pytest.mark.feature("Native", "structured inputs and results: dicts, tuples, lists, named tuples, None")
def test_structure_is_the_functions_own(name, args):
    function = scripted_function(name)
    want = function(*copy.deepcopy(args))
    lowered = rushlight.lower(function, copy.deepcopy(args))
    for run in (lowered, torch.jit.script(lowered)):
        got = run(*copy.deepcopy(args))
        assert type(got).__name__ == type(want).__name__
        assert_close(got, want) if not isinstance(want, (str, type(None))) and name != "structures" else None
        if name == "structures":
            assert_close(got[:3], want[:3])
            assert got[3:] == want[3:]
        if name == "named":
            assert got._fields == want._fields == ("xs", "n")


def test_a_traced_module_keeps_its_dict():
    net, args = models.TwoInputs(), (torch.rand(3), torch.rand(3))
    got = torch.jit.script(rushlight.lower(net, args))(*args)
    assert_close(got["product"], net(*args)["product"])


@pytest.mark.feature("Native", "rushlight.lower of a scripted module, branches taken by value")
def test_branches_stay():
    gate = models.Gate().eval()
    lowered = rushlight.lower(torch.jit.script(gate), (torch.rand(2, 4),))
    for sign in (1, -1):
        x = sign * 5 * torch.rand(2, 4)
        assert_close(lowered(x), gate(x))
        assert_close(torch.jit.script(lowered)(x), gate(x))


def test_a_branch_that_tracing_bakes_in_is_warned_of():
    with pytest.warns(torch.jit.TracerWarning, match="Python boolean") as caught:
        rushlight.lower(models.Gate().eval(), (torch.rand(2, 4),))
    assert [os.path.basename(w.filename) for w in caught] == ["lowered_models.py"]


@pytest.mark.feature("Native", "one lowered submodule of a model that is scripted, traced or frozen")
def test_one_submodule_of_a_larger_model():
    model, x = models.Encoder().eval(), torch.rand(3, 4)
    want = model(x)
    model.body = rushlight.lower(model.body, (torch.rand(3, 8),))
    assert_close(model(x), want)
    scripted, traced = torch.jit.script(model), torch.jit.trace(model, (x,))
    assert_close(scripted(x), want)
    assert_close(traced(x), want)
    assert_close(traced(torch.rand(3, 4)).shape, want.shape)
    assert_close(torch.jit.freeze(torch.jit.script(model))(x), want)


@pytest.mark.feature("Native", "saved by torch.save and torch.jit.save, loaded in a fresh process")
def test_saved_and_loaded_in_a_fresh_process(fresh, tmp_path):
    model, x = models.Encoder().eval(), torch.rand(3, 4)
    want = model(x)
    model.body = rushlight.lower(model.body, (torch.rand(3, 8),))
    torch.jit.script(model).save(str(tmp_path / "scripted.pt"))
    torch.jit.trace(model, (x,)).save(str(tmp_path / "traced.pt"))
    torch.save(model.body, str(tmp_path / "body.pt"))
    torch.save((x, want, model.head(x), model.body(model.head(x))), str(tmp_path / "x.pt"))
    out = fresh("""
import rushlight
library = rushlight.load_library()
x, want, h, b = torch.load("x.pt")
with torch.no_grad():
    for name in ("scripted.pt", "traced.pt"):
        torch.testing.assert_close(torch.jit.load(name)(x), want)
    body = torch.load("body.pt", weights_only=False)
    torch.testing.assert_close(body(h), b)
    torch.testing.assert_close(torch.jit.script(body)(h), b)
print(type(body).__name__)
""")
    assert out.split()[-1] == "Lowered"


@pytest.mark.feature("Native", "loaded by torch.classes.load_library alone")
def test_loaded_without_rushlights_python(fresh, tmp_path):
    x = torch.rand(3, 8)
    body = models.Encoder().body.eval()
    torch.jit.script(rushlight.lower(body, (x,))).save(str(tmp_path / "m.pt"))
    torch.save((x, body(x)), str(tmp_path / "x.pt"))
    fresh(f"""
torch.classes.load_library({rushlight.load_library()!r})
x, want = torch.load("x.pt")
with torch.no_grad():
    torch.testing.assert_close(torch.jit.load("m.pt")(x), want)
""")


@pytest.mark.feature("Native", "deepcopy")
def test_deepcopy_is_independent():
    lowered = rushlight.lower(torch.jit.script(models.Counter()), (torch.ones(2),))
    lowered.interpreter.reset()
    lowered(torch.ones(2))
    other = copy.deepcopy(lowered)
    for _ in range(3):
        lowered(torch.ones(2))
    assert_close(other(torch.ones(2)), torch.full((2,), 2.0) * 2)
    assert_close(lowered(torch.ones(2)), torch.full((2,), 5.0) * 5)


@pytest.mark.feature("Native", "mutable state with every way of saving")
def test_state_travels_with_every_way_of_saving(tmp_path):
    reference = models.Counter()
    lowered = rushlight.lower(torch.jit.script(models.Counter()), (torch.ones(2),), methods=["forward", "clear"])
    x = torch.tensor([1.0, 2.0])
    for _ in range(3):
        assert_close(lowered(x), reference(x))
    torch.save(lowered, str(tmp_path / "a.pt"))
    torch.jit.script(lowered).save(str(tmp_path / "b.pt"))
    want = reference(x)
    for again in (torch.load(str(tmp_path / "a.pt"), weights_only=False), torch.jit.load(str(tmp_path / "b.pt")),
                  copy.deepcopy(lowered), copy.deepcopy(torch.jit.script(lowered))):
        assert_close(again(x), want)
        again.clear()
        assert_close(again(x), models.Counter()(x))
    lowered.interpreter.reset()
    assert_close(lowered(x), models.Counter()(x))


def test_attributes_that_share_memory_do_so_after_loading():
    lowered = rushlight.lower(torch.jit.script(models.Shared()), (torch.ones(2),), methods=["forward", "through_the_row"])
    lowered.interpreter.reset()
    lowered(torch.ones(2))
    again = copy.deepcopy(lowered)
    assert_close(again.through_the_row(torch.ones(2)), torch.tensor([[2.0, 2.0], [0.0, 0.0]]))


def test_an_interpreter_by_itself(tmp_path):
    path, x = str(tmp_path / "m.rush"), torch.rand(2, 4)
    gate = models.Gate()
    rushlight.export(torch.jit.script(gate), (x,), path)
    rushlight.load_library()
    with open(path, "rb") as f:
        data = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)
    for source in (path, data):
        interpreter = torch.classes.rushlight.Interpreter(source)
        assert_close(interpreter.forward([x])[0], gate(x))
        assert_close(interpreter.call("forward", [x]), gate(x))
        assert interpreter.methods() == ["forward"]
    with pytest.raises(RuntimeError, match="has no method 'other'; it has forward"):
        interpreter.call("other", [x])
    with pytest.raises(RuntimeError, match="nowhere.rush cannot be read: No such file"):
        torch.classes.rushlight.Interpreter(str(tmp_path / "nowhere.rush"))
    with pytest.raises(RuntimeError, match="is a folder, not a file"):
        torch.classes.rushlight.Interpreter(str(tmp_path))
    with pytest.raises(RuntimeError, match="must be a path, or a flat uint8 tensor"):
        torch.classes.rushlight.Interpreter(torch.rand(3))
    data[300] ^= 255
    with pytest.raises(RuntimeError, match="rushlight: "):
        torch.classes.rushlight.Interpreter(data)


@pytest.mark.feature("Native", "a damaged pickle", pytorch="refuses", rushlight="refuses")
def test_a_pickle_goes_through_the_validator():
    lowered = rushlight.lower(torch.jit.script(models.Counter()), (torch.ones(2),))
    state, name = lowered.interpreter.__getstate__()
    assert state.dtype == torch.uint8 and state.dim() == 1

    def unpickled(state):
        out = torch.ScriptObject.__new__(torch.ScriptObject)
        out.__setstate__((state, name))
        return out

    assert unpickled(state).methods() == ["forward"]
    for damaged in (state[:100], state[:-20], torch.cat([state[:8], state[8:] * 0])):
        with pytest.raises(RuntimeError):
            unpickled(damaged)
    at = bytes(state.tolist()).rindex(b"torch.jit._pickle") + 3  # in the attributes, which libtorch reads
    damaged = state.clone()
    damaged[at] = 255
    with pytest.raises(RuntimeError, match="the attributes behind the file's bytes are damaged"):
        unpickled(damaged)
    for at in range(0, 1000, 7):
        damaged = state.clone()
        damaged[at] ^= 255
        try:
            unpickled(damaged)  # loads or is refused; never more
        except RuntimeError:
            pass


@pytest.mark.feature("Native", "inputs that require gradients", rushlight="refuses")
def test_gradients_are_refused_in_words():
    lowered = rushlight.lower(models.Encoder().body.eval(), (torch.rand(3, 8),))
    x = torch.rand(3, 8, requires_grad=True)
    scripted = torch.jit.script(lowered)
    lowered(x)  # without gradients: nothing is lost
    with torch.enable_grad():
        lowered(x.detach())
        for run in (lowered, scripted):
            with pytest.raises(RuntimeError, match="for inference only: it gives no gradients"):
                run(x)


def test_errors_have_rushlights_words():
    lowered = rushlight.lower(scripted_function("fails"), (-torch.ones(2),))
    with pytest.raises(RuntimeError, match="no positive sums here"):
        lowered(torch.ones(2))
    assert_close(lowered(-torch.ones(2)), -torch.ones(2))
    with pytest.raises(RuntimeError, match="sparse tensor cannot be passed"):
        lowered(torch.ones(2).to_sparse())
    empty = torch.ones(2)
    empty.untyped_storage().resize_(0)
    with torch._subclasses.FakeTensorMode() as fakes:
        fake = fakes.from_tensor(torch.ones(2))
    for nowhere in (empty, torch._efficientzerotensor(2), fake):
        with pytest.raises(RuntimeError, match="no strided memory"):
            lowered(nowhere)
    with pytest.raises(RuntimeError, match="a nested tensor cannot be passed"):
        lowered(torch.nested.nested_tensor([torch.ones(2)]))
    with pytest.raises(RuntimeError, match="on meta"):
        lowered(torch.ones(2, device="meta"))


def test_a_lowered_module_is_not_exported_again(tmp_path):
    x = torch.rand(3, 8)
    model = models.Encoder().eval()
    model.body = rushlight.lower(model.body, (x,))
    scripted = torch.jit.script(model.body)
    with pytest.raises(rushlight.RushlightError, match="was lowered already"):
        rushlight.export(scripted, (x,), tmp_path / "m.rush")
    with pytest.raises(rushlight.RushlightError, match="was lowered already"):
        rushlight.lower(model.body, (x,))


def test_a_file_with_a_lowered_module_says_so_without_the_class(fresh, tmp_path):
    x = torch.rand(3, 8)
    torch.jit.script(rushlight.lower(models.Encoder().body.eval(), (x,))).save(str(tmp_path / "lowered.pt"))
    fresh("""
import pytest, rushlight, torch
with pytest.raises(rushlight.RushlightError, match="lowered.pt: a part of this model was lowered already"):
    rushlight.export("lowered.pt", (torch.rand(3, 8),), "m.rush")
""")


@pytest.mark.feature("Native", "an input that is a view of another")
def test_an_input_that_is_a_view_of_another():
    function = scripted_function("write_first")
    lowered = rushlight.lower(function, (torch.ones(3, 3), torch.ones(3)))
    for view in (lambda x: x[1], lambda x: x[:, 1], lambda x: x.t(), lambda x: x, lambda x: x.flatten()[::2][:3]):
        a, b = torch.arange(9.0).view(3, 3), torch.arange(9.0).view(3, 3)
        assert_close(lowered(a, view(a)), function(b, view(b)))
        assert_close(a, b)  # an in-place write changes the caller's tensor


def test_only_what_was_written_is_written_back():
    lowered = rushlight.lower(scripted_function("write_first"), (torch.ones(3), torch.ones(3)))
    base = torch.zeros(1000, 1000)
    x, y = base[3, ::300], torch.ones(4)
    before = y._version
    lowered(x, y)
    assert base.sum() == 4 and y._version == before and x._version > 0


@pytest.mark.feature("Native", "results that alias inputs or each other")
def test_results_alias_as_in_pytorch():
    lowered = rushlight.lower(scripted_function("halves"), (torch.arange(4.0),))
    x = torch.arange(4.0)
    a, b, y, first, again = lowered(x)
    a.fill_(7)
    assert x.tolist() == [7, 7, 2, 3] and b.data_ptr() == x.data_ptr() + 8
    first.fill_(-1)
    assert y[0] == -1 and again.data_ptr() == y.data_ptr()


def test_dtypes_and_strides():
    lowered = rushlight.lower(torch.jit.script(lambda_add), (torch.ones(2, 3), torch.ones(2, 3)))
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.int8, torch.int16, torch.float16, torch.bfloat16):
        a, b = torch.ones(3, 2, dtype=dtype).t(), torch.ones(1, 3, dtype=dtype).expand(2, 3)
        assert_close(lowered(a, b), a + b, check_stride=True)
    assert lowered(torch.ones(0, 3), torch.ones(0, 3)).shape == (0, 3)
    with pytest.raises(RuntimeError, match="does not have dtype"):
        lowered(torch.ones(2, 3, dtype=torch.uint16), torch.ones(2, 3, dtype=torch.uint16))


def lambda_add(a, b):
    return a + b


@pytest.mark.feature("Native", "several threads at once")
def test_threads_do_not_wait_for_each_other(monkeypatch):
    """Each of four runs waits in its middle until the others have come as far."""
    lowered = rushlight.lower(scripted_function("busy"), (torch.rand(8, 8), 2))
    x, n = torch.rand(64, 64), 5
    want = models.busy(x, n)
    meet, results = threading.Barrier(4, timeout=600), []

    class Out:
        def write(self, text):
            if "half way" in text:
                meet.wait()

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Out())
    threads = [threading.Thread(target=lambda: results.append(lowered(x, n))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4
    for r in results:
        assert_close(r, want)


def test_a_run_does_not_hold_pythons_lock(fresh):
    """The first run has torch's generator and waits until Python lets it continue. The second run waits natively for the generator. If
    it held Python's lock, neither would end.
    """
    fresh(f"""
import rushlight, threading
sys.path.append({os.path.dirname(models.__file__)!r})
import lowered_models
lowered = rushlight.lower(torch.jit.script(lowered_models.draws), (torch.zeros(2),))
has_generator, begins, go_on, results = threading.Event(), threading.Event(), threading.Event(), []

class Out:
    def write(self, text):
        if "drawing" in text and not has_generator.is_set():
            has_generator.set()
            go_on.wait()

    def flush(self):
        pass

def second():
    begins.set()
    results.append(lowered(torch.zeros(2)))

sys.stdout = Out()
threads = [threading.Thread(target=lambda: results.append(lowered(torch.zeros(2)))), threading.Thread(target=second)]
threads[0].start()
has_generator.wait()
threads[1].start()
begins.wait()
go_on.set()
for t in threads:
    t.join()
assert len(results) == 2
""")


def test_threads_that_write_state_take_turns():
    lowered = rushlight.lower(torch.jit.script(models.Counter()), (torch.ones(2),))
    lowered.interpreter.reset()
    threads = [threading.Thread(target=lambda: [lowered(torch.ones(2)) for _ in range(50)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert_close(lowered(torch.zeros(2)), torch.full((2,), 200.0) * 201)


def test_symbols_of_the_runtime_are_hidden():
    import subprocess

    out = subprocess.run(["nm", "-D", "--defined-only", rushlight.load_library()], capture_output=True, text=True)
    names = [line.split()[-1] for line in out.stdout.splitlines()]
    assert [n for n in names if n.startswith(("rush_", "xnn_"))] == []


@pytest.mark.feature("Native", "an FX pipeline lowered to the native runtime")
def test_fx_graph_module_through_the_native_runtime(fresh, tmp_path):
    """Runs the pipeline of the documentation: symbolic_trace, lower, script, save, load in a fresh process."""

    class ElementWise(torch.nn.Module):
        def forward(self, x, y, z):
            w = x * y
            return torch.relu(w + z) * x

    graph = torch.fx.symbolic_trace(ElementWise())
    for node in graph.graph.nodes:  # it is a program that may be edited first
        if node.target is torch.relu:
            node.target = torch.tanh
    graph.recompile()
    args = (torch.rand(3), torch.rand(3), torch.rand(3))
    lowered = rushlight.lower(graph, args)
    want = graph(*args)
    assert_close(lowered(*args), want)
    scripted = torch.jit.script(lowered)
    assert_close(scripted(*args), want)
    scripted.save(str(tmp_path / "scripted.pt"))
    torch.save((args, want), str(tmp_path / "x.pt"))
    fresh("""
import rushlight
rushlight.load_library()
args, want = torch.load("x.pt")
torch.testing.assert_close(torch.jit.load("scripted.pt")(*args), want)
""")


@pytest.mark.feature("Native", "an FX graph around a lowered part")
def test_an_fx_graph_around_a_lowered_part():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = models.Encoder().body

        def forward(self, x):
            return self.body(x) + 1

    class Keep(torch.fx.Tracer):
        def is_leaf_module(self, m, name):
            return name == "body" or super().is_leaf_module(m, name)

    model, x = Model().eval(), torch.rand(2, 8)
    want = model(x)
    graph = torch.fx.GraphModule(model, Keep().trace(model))
    graph.body = rushlight.lower(model.body, (x,))
    assert_close(graph(x), want)
    assert_close(torch.jit.script(graph)(x), want)

    model.body = graph.body  # a lowered module is a leaf by itself
    again = torch.fx.symbolic_trace(model)
    assert [n.target for n in again.graph.nodes if n.op == "call_module"] == ["body"]
    assert_close(again(x), want)
    assert_close(torch.jit.script(again)(x), want)
    with pytest.raises(torch.fx.proxy.TraceError, match="must trace a model that contains the lowered module"):
        torch.fx.symbolic_trace(graph.body)
    with pytest.raises(torch.fx.proxy.TraceError, match="cannot trace a lowered module"):
        make_fx(graph)(x)
