"""Several ExportedPrograms in one file, with shared weights and state."""

import pytest
import rushlight
import torch
from rushlight.base.errors import RushlightError
from torch.export import Dim

TOKENS = torch.randint(64, (1, 5), generator=torch.Generator().manual_seed(0))


class Translator(torch.nn.Module):
    """An encoder and a decoder with one embedding. encode() keeps what decode() reads."""

    def __init__(self):
        super().__init__()
        self.embed, self.encoder, self.query = torch.nn.Embedding(64, 32), torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)
        self.register_buffer("memory", torch.zeros(1, 8, 32))
        self.register_buffer("length", torch.zeros((), dtype=torch.int64))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.int64))

    def encode(self, tokens):
        hidden = self.encoder(self.embed(tokens)).tanh()
        self.memory.copy_(torch.nn.functional.pad(hidden, (0, 0, 0, 8 - tokens.size(1))))
        self.length.fill_(tokens.size(1))
        self.steps.zero_()
        return hidden.mean(1)

    def decode(self, token):
        self.steps.add_(1)
        mask = torch.arange(8) < self.length
        read = torch.nn.functional.scaled_dot_product_attention(self.query(self.embed(token)), self.memory, self.memory, mask[None])
        return {"logits": torch.nn.functional.linear(read, self.embed.weight), "steps": self.steps.clone()}


class Method(torch.nn.Module):
    """A method of a model as forward(). Its tensors have the model's names, below "model."."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return getattr(self.model, self.name)(x)


def programs_of(model):
    n = Dim("n", min=1, max=8)
    return {"encode": torch.export.export(Method(model, "encode"), (TOKENS,), dynamic_shapes={"x": {1: n}}),
            "decode": torch.export.export(Method(model, "decode"), (TOKENS[:, :1],))}


def check(out, model):
    """Compares several inputs of several lengths, each with tokens after it."""
    session = rushlight.load(out)
    assert session.methods() == ["encode", "decode"] and session.outputs("decode") == ["logits", "steps"]
    for length in (3, 8, 1):
        tokens = torch.randint(64, (1, length))
        torch.testing.assert_close(session.call("encode", tokens), model.encode(tokens))
        for token in (4, 9):
            want, got = model.decode(torch.tensor([[token]])), session.call("decode", torch.tensor([[token]]))
            torch.testing.assert_close(got.logits, want["logits"])
            assert int(got.steps) == int(want["steps"])


@pytest.fixture
def out(tmp_path):
    return tmp_path / "m.rush"


@pytest.mark.feature("torch.export", "several programs in one file, with shared weights and state")
@torch.no_grad()
def test_programs_share_weights_and_state(out):
    model = Translator()
    report = rushlight.export(programs_of(model), path=out)
    assert sorted(report.state) == ["model.length", "model.memory", "model.steps"] and not report.warnings
    weights = sum(p.nbytes for p in model.parameters())
    assert weights <= report.weights_bytes < 1.3 * weights and not model.steps.any()
    alone = rushlight.export(programs_of(model)["encode"], path=out.with_name("alone.rush"))
    embedding = model.embed.weight.nbytes
    assert report.weights_bytes < alone.weights_bytes + embedding, "the embedding must be in the file once"
    check(out, model)


@torch.no_grad()
def test_programs_from_files_share_by_name(out, tmp_path):
    model, paths = Translator(), {}
    for name, program in programs_of(model).items():
        paths[name] = tmp_path / f"{name}.pt2"
        torch.export.save(program, paths[name])
    report = rushlight.export(paths, path=out)
    assert report.weights_bytes < 1.3 * sum(p.nbytes for p in model.parameters())
    check(out, model)


class Scaled(torch.nn.Module):
    def __init__(self, value, sizes=(3,)):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full(sizes, value))
        self.register_buffer("seen", torch.zeros(sizes))

    def forward(self, x):
        self.seen.add_(1)
        return x * self.weight + self.seen


def test_other_weights_of_the_same_name_stay_apart(out):
    x = torch.rand(3)
    one, two = Scaled(2.0), Scaled(5.0)
    two.seen = one.seen
    rushlight.export({"one": torch.export.export(one, (x,)), "two": (torch.export.export(two, (x,)), x)}, path=out,
                     output_names={"two": ["y"]}, quantize=None)
    session = rushlight.load(out)
    assert session.outputs("two") == ["y"]
    for count, (name, factor) in enumerate([("one", 2.0), ("two", 5.0), ("one", 2.0)], 1):
        torch.testing.assert_close(session.call(name, x), x * factor + count)


class Widened(torch.nn.Module):
    """Writes a view of another module's buffer."""

    def __init__(self, whole):
        super().__init__()
        self.register_buffer("first", whole[:2])

    def forward(self, x):
        self.first.copy_(x)
        return x + 0


def test_a_view_of_another_programs_state(out):
    scaled = Scaled(1.0)
    x = torch.tensor([4.0, 7.0])
    rushlight.export({"add": torch.export.export(scaled, (torch.zeros(3),)), "write": torch.export.export(Widened(scaled.seen), (x,))},
                     path=out)
    session = rushlight.load(out)
    session.call("write", x)
    assert session.call("add", torch.zeros(3)).tolist() == [5, 8, 1]


@torch.no_grad()
def test_quantized_programs_and_diff(out):
    model = Translator()
    programs = programs_of(model)
    report = rushlight.export(programs, path=out, quantize="int8", verify=False)
    assert report.weights_bytes < 0.4 * sum(p.nbytes for p in model.parameters())
    session = rushlight.load(out)
    session.call("encode", TOKENS)
    session.call("decode", TOKENS[:, :1])
    rushlight.export(programs, path=out)
    assert rushlight.diff(out, programs["decode"], TOKENS[:, :1], method="decode")


X = torch.rand(3)
PROGRAM = torch.export.export(Scaled(2.0), (X,))


@pytest.mark.parametrize("given, error, message", [
    ({"a": PROGRAM, "b": (Scaled(2.0), X)}, ValueError, "all methods must be ExportedPrograms if one of them is, got tuple for 'b'"),
    ({"a b": PROGRAM}, ValueError, "the name of a method must be an identifier, got 'a b'"),
    ({"a": PROGRAM, "b": torch.export.export(Scaled(2.0, (4,)), (torch.rand(4),))}, RushlightError,
     "the methods 'a' and 'b' have the state seen, which must begin with the same dtype, sizes and elements in both"),
])
def test_what_is_refused(given, error, message, out):
    with pytest.raises(error, match=message):
        rushlight.export(given, path=out)
    assert not out.exists()


def test_a_program_without_example_inputs(out):
    program = torch.export.export(Scaled(2.0), (X,))
    program._example_inputs = None
    with pytest.raises(ValueError, match=r"'a' must have example inputs, which its program does not store: give \(program, inputs\)"):
        rushlight.export({"a": program}, path=out)
    rushlight.export({"a": (program, X)}, path=out)
    torch.testing.assert_close(rushlight.load(out).call("a", X), X * 2 + 1)
