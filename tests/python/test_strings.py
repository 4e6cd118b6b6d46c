"""Strings that are not UTF-8: PyTorch's hold any bytes, and Python's may have surrogates. Each is refused by a sentence that names it."""

from typing import Dict, List

import pytest
import rushlight
import torch
from torch import nn

X = torch.ones(2)


@torch.jit.script
def first(s: str):
    return s[0:1]


@torch.jit.script
def firsts(s: List[str]):
    return {t[0:1]: len(t) for t in s}


@torch.jit.script
def sizes(d: Dict[str, int]):
    return len(d)


def session(model, example, path):
    rushlight.export(model, example, path)
    return rushlight.load(path)


def test_a_constant_is_refused_at_its_line(out):
    program = torch.jit.CompilationUnit('def f(x: Tensor):\n    return x, "é"[0:1]\n')
    with pytest.raises(rushlight.RushlightError, match=r"a constant string must be UTF-8, got the bytes b'\\xc3'"):
        rushlight.export(program.f, X, out)


def test_pytorchs_answer_is_refused(out):
    with pytest.raises(rushlight.RushlightError, match=r"strings of a model must be UTF-8, got b'\\xc3'"):
        rushlight.export(first, ("é",), out)


def test_a_result_is_refused_as_pytorch_does(out):
    run = session(first, ("a",), out)
    assert run("xé") == "x"
    for of in first, run:
        with pytest.raises((UnicodeDecodeError, rushlight.RushlightError)) as error:
            of("é")
    assert str(error.value) == r'a string that Python gets must be UTF-8, got "\xc3"'
    with pytest.raises(rushlight.RushlightError, match="must be UTF-8"):
        session(firsts, (["a"],), out)(["b", "é"])


def test_arguments_are_refused_by_name(out):
    run = session(first, ("a",), out)
    for call in lambda: run("\ud800"), lambda: run(s="\ud800"), lambda: run.run({"s": "\ud800"}):
        with pytest.raises(ValueError, match=r"forward\(\): the input 's': a str must have .* UTF-8 .*, got '\\ud800'"):
            call()
    run = session(sizes, ({"a": 1},), out)
    with pytest.raises(ValueError, match=r"the input 'd': .*, got 'a\\udc80'"):
        run({"a\udc80": 1})


def test_state_is_refused_by_name(out):
    class Keeps(nn.Module):
        kept: str

        def __init__(self):
            super().__init__()
            self.kept = "a"

        def forward(self, s: str):
            self.kept = s[0:1]
            return len(s)

    run = session(torch.jit.script(Keeps()), ("b",), out)
    with pytest.raises(ValueError, match=r"the attribute 'kept': .*, got '\\ud800'"):
        run.set_state({"kept": "\ud800"})
    assert run("é") == 2
    with pytest.raises(rushlight.RushlightError, match="must be UTF-8"):
        run.state()


class Named(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name
        self.register_buffer(name, torch.ones(2))

    def forward(self, x):
        return {self.name: x + getattr(self, self.name)}


@pytest.mark.parametrize("front", [lambda m: m, lambda m: torch.export.export(m, (X,))], ids=["traced", "program"])
def test_names_are_refused(front, out):
    assert session(front(Named("é")), X, out)(X) is not None
    with pytest.raises(rushlight.RushlightError, match=r"UTF-8.*\\ud800"):
        rushlight.export(front(Named("b\ud800")), X, out)


def test_results_are_refused(out):
    with pytest.raises(rushlight.RushlightError, match=r"a string in the model's result .* UTF-8 .*\\ud800"):
        rushlight.export(lambda x: (x, "\ud800"), X, out)


def test_examples_and_names_of_inputs_are_refused(out):
    with pytest.raises(ValueError, match=r"a string in example_inputs and tests .* UTF-8 .*\\ud800"):
        rushlight.export(first, ("\ud800",), out)
    with pytest.raises(ValueError, match=r"a string in example_inputs and tests .* UTF-8 .*\\ud800"):
        rushlight.export(lambda d: d, ({"\ud800": X},), out)
    with pytest.raises(rushlight.RushlightError, match=r'strings must be UTF-8, got "a\\xed\\xa0\\x80"'):
        rushlight.export(first, ("a",), out, input_names=["a\ud800"])
