"""The files of `./dev bench --text` have the weights of the model."""

import pathlib
import sys

import gguf_models
import numpy
import pytest
import torch
from rushlight.text import gguf_file

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import language_models  # noqa: E402
import text_bench  # noqa: E402
from text_gguf import write_gguf  # noqa: E402


@pytest.mark.parametrize("bits", language_models.BITS)
@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3"])
@torch.no_grad()
def test_gguf(architecture, bits, tmp_path):
    model = gguf_models.decoder(architecture, tie_word_embeddings=True)
    plain = model(torch.arange(9)[None]).logits
    language_models.round_weights(model, bits)
    want = model(torch.arange(9)[None]).logits
    write_gguf(model, bits, 64, [3, 4], tmp_path / "m.gguf")
    loaded = gguf_models.decoder(architecture, tie_word_embeddings=True)
    gguf_file._take_weights(loaded, str(tmp_path / "m.gguf"))
    got = loaded(torch.arange(9)[None]).logits
    assert (got - want).norm() < 0.02 * want.norm() and (plain - want).norm() > 0


def test_rounding_twice_changes_nothing():
    weight = torch.randn(24, 96)
    for rounded in language_models.in_groups(weight), language_models.in_rows(weight):
        assert 0 < (rounded - weight).norm() < 0.2 * weight.norm()
    once = language_models.in_groups(weight)
    numpy.testing.assert_array_equal(language_models.in_groups(once), once)


def test_turns_of_a_contender_are_one_result():
    turn = {"folder": "m-int8", "rival": "wllama", "threads": 1, "load": 5.0, "prompt": 2.0, "decode": 7.0}
    results = []
    for more in {"same": [16], "cosines": [1.0]}, {"load": 9.0, "prompt": 1.0, "decode": 8.0}, {"rival": "ort"}:
        text_bench.add(results, {**turn, **more})
    assert [(r["rival"], r["load"], r["prompt"], r["decode"]) for r in results] == [("wllama", 5, 1, 7), ("ort", 5, 2, 7)]
    assert results[0]["same"] == [16]
    text_bench.add(results, {"folder": "m-int8", "rival": "ort", "threads": 1, "error": "did not end in 300 s"})
    text_bench.add(results, turn | {"rival": "ort"})
    assert results[1]["error"] and text_bench.ratios(results, "ort") == []
