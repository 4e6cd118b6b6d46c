"""Several methods of traced modules in one file, with shared weights and state."""

import warnings
from types import SimpleNamespace

import pytest
import reader
import rushlight
import torch
from rushlight.front.captured import MethodCall
from rushlight.method_sequence import check_sequence
from rushlight.report import note_cosines
from torch.export import Dim

TOKENS = torch.randint(20, (1, 5), generator=torch.Generator().manual_seed(0))


class Kept(torch.nn.Module):
    """State of any length: a scripted module may replace it."""

    kept: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(1, 1, 8))

    def forward(self, x: torch.Tensor):
        self.kept = x
        return self.kept

    @torch.jit.export
    def read(self):
        return self.kept


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.encoder, self.query = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.memory = torch.jit.script(Kept())
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(8))

    def encode(self, tokens):
        hidden = self.encoder(self.embed(tokens)).tanh()
        self.memory(hidden)
        self.mean.copy_(hidden.mean((0, 1)))
        self.count.zero_()
        return hidden.mean(1)

    def step(self, tokens, scale=None):
        memory = self.memory.read()
        self.count += 1
        query = self.query(self.embed(tokens))
        read = torch.nn.functional.scaled_dot_product_attention(query, memory, memory) + self.mean
        return {"logits": read @ self.embed.weight.t(), "count": self.count.clone()}


def methods_of(model):
    return {"encode": (model.encode, TOKENS), "step": (model.step, {"tokens": TOKENS[:, :1]})}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "m.rush"


@torch.no_grad()
def test_a_method_reads_the_state_that_another_one_writes(out):
    model = Reader()
    report = rushlight.export(methods_of(model), path=out, dynamic_shapes={"encode": {"tokens": {1: "n"}}})
    session = rushlight.load(out)
    assert session.methods() == ["encode", "step"] and session.outputs("step") == ["logits", "count"]
    assert sorted(report.state) == ["count", "mean", "memory.kept"] and not report.warnings
    for length in (3, 7, 1):
        tokens = torch.randint(20, (1, length))
        torch.testing.assert_close(session.call("encode", tokens), model.encode(tokens))
        for token in (4, 9):
            want, got = model.step(torch.tensor([[token]])), session.call("step", torch.tensor([[token]]))
            torch.testing.assert_close(got.logits, want["logits"])
            assert int(got.count) == int(want["count"])


def test_the_model_is_as_before_and_the_weights_are_stored_once(out):
    model = Reader()
    report = rushlight.export(methods_of(model), path=out)
    assert not model.count.any() and model.memory.kept.shape == (1, 1, 8)
    weights = sum(p.nbytes for p in model.parameters())
    assert weights <= report.weights_bytes < 1.3 * weights


def test_each_method_has_test_vectors_sizes_and_names(out):
    rushlight.export(methods_of(Reader()), path=out, input_names={"step": ["last"]},
                     output_names={"encode": ["state"], "step": ["scores", "steps"]}, test_inputs={"step": [(TOKENS[:, 1:2],)]},
                     dynamic_shapes={"encode": {"tokens": {1: Dim("n", max=9)}}, "step": {"last": {1: Dim("n", min=1, max=3)}}})
    session = rushlight.load(out)
    assert (session.inputs("step"), session.outputs("encode"), session.outputs("step")) == (["last"], ["state"], ["scores", "steps"])
    assert len(session.verify()) == 2
    found = reader.read(out).methods
    assert [found[name]["inputs"][0]["constraints"] for name in ("encode", "step")] == [[(1, "n", 0, 9)], [(1, "n", 1, 3)]]
    session.call("encode", torch.zeros(1, 9, dtype=torch.int64))
    with pytest.raises(rushlight.RushlightError, match='size 1 of input "last" must be at most 3, got 4'):
        session.call("step", torch.zeros(1, 4, dtype=torch.int64))


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(64, 32)

    def forward(self, tokens):
        return self.table(tokens).mean(1)


class Decoder(torch.nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table, self.head = table, torch.nn.Linear(32, 64)

    def forward(self, token, state):
        return self.head(self.table(token) + state).tanh()


def test_modules_that_share_a_submodule_and_a_function(out):
    encoder = Encoder()
    decoder = Decoder(encoder.table)
    state = encoder(TOKENS).detach()
    methods = {"forward": (encoder, TOKENS), "step": (decoder, (TOKENS[0, :1], state)), "likeliest": (lambda x: x.argmax(-1), state)}
    for bits in "", "int8":
        report = rushlight.export(methods, path=out, quantize=bits, assets={"a.txt": "b"})
        session = rushlight.load(out)
        assert session.asset("a.txt") == b"b"
        tolerance = {"rtol": 0.05, "atol": 0.05} if bits else {}
        torch.testing.assert_close(session(TOKENS), encoder(TOKENS).detach(), **tolerance)
        torch.testing.assert_close(session.call("step", TOKENS[0, :1], state), decoder(TOKENS[0, :1], state).detach(), **tolerance)
        assert session.call("likeliest", state).tolist() == state.argmax(-1).tolist()
        whole = (encoder.table.weight.nbytes + decoder.head.weight.nbytes) // (4 if bits else 1)
        assert report.weights_bytes < 1.3 * whole


class Replaced(torch.nn.Module):
    """Replaces a buffer in Python, which a trace does not record."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def write(self, x):
        self.seen = x * 2
        return x + 0

    def read(self, x):
        return self.seen + x


def test_state_that_a_trace_does_not_record_is_refused(out):
    model, x = Replaced(), torch.rand(3)
    with pytest.warns(torch.jit.TracerWarning, match="does not record that the model replaces 'seen'"):
        with pytest.raises(rushlight.RushlightError, match="differs from PyTorch") as error:
            rushlight.export({"write": (model.write, x), "read": (model.read, x)}, path=out)
    assert error.value.code == "mismatch" and not out.exists()


def test_the_methods_are_also_compared_in_turn(out):
    model = Reader()
    rushlight.export(methods_of(model), path=out)
    after_encode = [MethodCall("encode", (TOKENS,), model.encode(TOKENS)), MethodCall("step", (TOKENS[:, :1],), model.step(TOKENS[:, :1]))]
    settings = {"path": str(out), "verify": True, "quantize": "", "allow_missing": False}
    check_sequence(SimpleNamespace(settings=settings, captured=SimpleNamespace(calls=after_encode)))
    from_zeros = [after_encode[0], MethodCall("step", (TOKENS[:, :1],), Reader().step(TOKENS[:, :1]))]
    with pytest.raises(rushlight.RushlightError, match="'step' differs from PyTorch when the methods run one after the other") as error:
        check_sequence(SimpleNamespace(settings=settings, captured=SimpleNamespace(calls=from_zeros)))
    assert error.value.code == "mismatch" and not out.exists()


class Remembers(torch.nn.Module):
    """In the first state, recall() gives zeros with any weights."""

    def __init__(self):
        super().__init__()
        self.write, self.read = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64, bias=False)
        self.register_buffer("memory", torch.zeros(1, 64))

    def remember(self, x):
        self.memory.copy_(self.write(x))
        return x.sum()

    def recall(self, weight):
        return self.read(self.memory * weight)


@pytest.mark.parametrize("far", [False, True])
def test_quantized_methods_are_measured_in_the_state_of_those_before_them(far, out):
    torch.manual_seed(0)
    model = Remembers()
    if far:  # a large weight leaves few of 16 steps for the others of its group
        with torch.no_grad():
            model.read.weight[:, ::32] = 40
            model.write.weight[::32], model.write.bias[::32] = 0, 0
    calls = {"remember": (model.remember, torch.randn(1, 64)), "recall": (model.recall, torch.ones(1))}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = rushlight.export(calls, path=out, quantize="int4-weights")
    said = [str(warning.message) for warning in caught if "quantized method 'recall'" in str(warning.message)]
    assert "in turn   cosine" in str(report) and len(said) == far == len([text for text in report.warnings if "'recall'" in text])
    assert report.quantized["cosine"] < (0.99 if far else 0.99999)


@pytest.mark.parametrize("before, expected", [(None, 0.5), (0.0, 0.0), (0.995, 0.5)])
def test_the_cosine_of_a_report_is_the_least_one(before, expected):
    fields = {"quantized": {"cosine": before}, "warnings": [], "text": ""}
    note_cosines(fields, {"read": 0.5})
    assert fields["quantized"]["cosine"] == expected


MODEL = Encoder()


@pytest.mark.parametrize("model, more, error, message", [
    ({"a": (MODEL, None)}, {}, ValueError, "the method 'a' must have example inputs, got None"),
    ({"a": MODEL}, {}, ValueError, r"the method 'a' must be \(module, example inputs\), got Encoder"),
    ({"a b": (MODEL, TOKENS)}, {}, ValueError, "the name of a method must be an identifier, got 'a b'"),
    ({"a": (3, TOKENS)}, {}, TypeError, "the method 'a' must be a module, a function or a method of a module, got int"),
    ({"a": (MODEL, TOKENS)}, {"example_inputs": TOKENS}, ValueError, "example_inputs must not be given for several methods"),
    ({"a": (MODEL, TOKENS)}, {"methods": ("a",)}, ValueError, "methods must not be given for a dict of methods"),
    ({"a": (MODEL, TOKENS)}, {"dynamic_shapes": {"tokens": {1: "n"}}}, ValueError, "a dict by method, whose keys are a, got"),
    ({"a": (MODEL, TOKENS)}, {"tests": [((TOKENS,), None, -1, -1, "b")]}, ValueError, "the model has no method 'b'; it has a"),
])
def test_wrong_arguments(model, more, error, message, out):
    with pytest.raises(error, match=message):
        rushlight.export(model, path=out, **more)
