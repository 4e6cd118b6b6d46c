"""The keys of a dict that a traced model returns are the names of its outputs."""

import collections
import dataclasses

import pytest
import rushlight
import torch


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return {"logits": self.linear(x), "pair": (x, x * 2), "count": 3}


class One(Base):
    def forward(self, x):
        return collections.OrderedDict(out=self.linear(x))


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor
    hidden: list


class OfDataclass(Base):
    def forward(self, x):
        return Answer(self.linear(x), [x * 2, x])


class OfSeveralTypes(Base):
    def forward(self, x):
        return {"logits": x, "parts": [x, {"x": x}]}


class Inside(Base):
    def forward(self, x):
        return self.linear(x), {"x": x}


class Numbered(Base):
    def forward(self, x):
        return {"0": x, "pool": self.linear(x)}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "m.rush"


X = torch.rand(2, 4)


def exported(model, out, way):
    if way == "trace":
        rushlight.export(model, X, out, dynamic_shapes={"x": {0: "n"}})
    else:
        rushlight.export(torch.export.export(model, (X,)), None, out)
    session = rushlight.load(out)
    assert len(session.verify()) == 1
    return session


@torch.no_grad()
@pytest.mark.parametrize("way", ["trace", "program"])
@pytest.mark.parametrize("kind, names", [(Base, ["logits", "pair", "count"]), (One, ["out"])])
def test_keys_are_names(kind, names, way, out):
    model = kind()
    session = exported(model, out, way)
    assert session.outputs() == names
    got, want = session.run({"x": X}), model(X)
    assert list(got) == names
    torch.testing.assert_close(got, dict(want))
    torch.testing.assert_close(getattr(session(X), names[0]), want[names[0]])


@torch.no_grad()
def test_fields_of_a_dataclass_are_names(out):
    model = OfDataclass()
    session = exported(model, out, "trace")
    assert session.outputs() == ["logits", "hidden"]
    torch.testing.assert_close(session(X).hidden[0], X * 2)
    assert rushlight.diff(out, model, X)


@torch.no_grad()
@pytest.mark.parametrize("kind, way, names", [(Inside, "trace", 2), (Inside, "program", 2), (Numbered, "trace", 1),
                                              (Numbered, "program", 1), (OfSeveralTypes, "trace", 1)])
def test_other_dicts_stay_dicts(kind, way, names, out):
    session = exported(kind(), out, way)
    got = session(X)
    assert len(session.outputs()) == names
    assert isinstance(got[1] if names == 2 else got, dict)


def test_a_scripted_model_returns_the_dict_of_its_type(out):
    def forward(x: torch.Tensor):
        return {"y": x + 1}

    rushlight.export(torch.jit.script(forward), X, out)
    assert rushlight.load(out).outputs() == ["output"]


@torch.no_grad()
def test_a_lowered_model_returns_the_models_dict(out):
    model = Base()
    torch.testing.assert_close(rushlight.lower(model, X)(X)["logits"], model(X)["logits"])
