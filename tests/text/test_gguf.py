"""export_text() of GGUF files: the same tokens and logits as transformers', with weights of as few bits."""

import json
import subprocess
import sys

import gguf_models
import pytest
import rushlight
import torch
import transformers
from rushlight.text import gguf_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.gguf"


def exported(path, model, architecture, **types):
    """Writes and exports a model. Returns the session, the report and the model that transformers makes of the file."""
    gguf_models.write(path, model, architecture, **types)
    report = rushlight.export_text(path, None, path.with_suffix(".rush"), length=32)
    return rushlight.load(path.with_suffix(".rush")), report, gguf_file.load(path)[0].eval()


@torch.no_grad()
def cosine(a, b):
    """Returns the cosine of the last logits of two models, or of a session and a model."""
    ids = torch.randint(256, (1, 20))
    first, second = (m(ids).logits[0, -1] if isinstance(m, torch.nn.Module) else m(ids, torch.tensor(0))[0] for m in (a, b))
    return float(torch.cosine_similarity(first, second, 0))


@pytest.mark.parametrize("architecture", gguf_models.MODELS)
def test_architectures(architecture, path):
    written = gguf_models.decoder(architecture)
    session, report, own = exported(path, written, architecture, kind="Q8_0")
    assert cosine(session, own) > 0.999 and cosine(written, own) > 0.999 and report.quantized["layers"] > 4
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    assert json.loads(session.asset("tokenizer.json"))["model"] == json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    assert session.asset("chat_template.jinja").decode() == gguf_models.text_models.TEMPLATE


# {type: (bits of the layers, bits a weight at most, the greatest error of a layer)}.
TYPES = {
    "F32": (None, 32.1, 0), "F16": ("float16", 16.1, 1e-6), "Q8_0": ("int8-weights", 8.6, 0.01), "Q4_0": ("int4-weights", 4.6, 1e-3),
    "Q4_1": ("int4-weights:minima", 5.1, 1e-3), "Q5_0": ("int8-weights", 8.6, 0.01), "Q5_1": ("int8-weights", 8.6, 0.01),
    "Q4_K": ("int4-weights:minima", 5.1, 0.02), "Q6_K": ("int8-weights", 8.6, 0.02),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types(kind, path):
    bits, most, error = TYPES[kind]
    model = gguf_models.decoder("llama", hidden_size=256, intermediate_size=256, num_hidden_layers=1)
    session, report, own = exported(path, model, "llama", kind=kind)
    assert gguf_file.bits(path)["*.q_proj"] == bits
    assert cosine(session, own) > 0.999
    for layer in (report.quantized or {}).get("by_layer", []):
        if layer["path"].endswith("_proj"):
            assert layer["bits"] == bits and layer["after"] * 8 <= most * layer["before"] / 4 and layer["error"] <= error


def test_a_file_is_the_first_thing_that_a_process_does_with_transformers(path):
    gguf_models.write(path, gguf_models.decoder("llama"), "llama")
    lines = "import sys, rushlight; rushlight.export_text(sys.argv[1], None, sys.argv[2], length=16)"
    subprocess.run([sys.executable, "-c", lines, str(path), str(path.with_suffix(".rush"))], check=True)
    assert rushlight.load(path.with_suffix(".rush")).verify()


def test_layers_of_one_name_may_have_different_types(path):
    gguf_models.write(path, gguf_models.decoder("llama"), "llama", mixed={"blk.1.ffn_down.weight": "Q8_0"})
    found = gguf_file.bits(path)
    assert found["*.0.*.down_proj"] == "int4-weights" and found["*.1.*.down_proj"] == "int8-weights"
    assert found["*.up_proj"] == "int4-weights" and found["*embed_tokens"] == found["*lm_head"] == "int8-weights"
    report = rushlight.export_text(path, None, path.with_suffix(".rush"), length=16)
    bits = {layer["path"][-15:]: layer["bits"] for layer in report.quantized["by_layer"]}
    assert (bits["0.mlp.down_proj"], bits["1.mlp.down_proj"]) == ("int4-weights", "int8-weights")


def test_own_bits_and_an_unknown_architecture(path):
    gguf_models.write(path, gguf_models.decoder("llama"), "llama")
    report = rushlight.export_text(path, None, path.with_suffix(".rush"), length=16, quantize="int8")
    assert report.quantized["bits"] == "int8"
    other = path.with_name("other.gguf")
    writer = gguf_models.gguf.GGUFWriter(str(other), "plamo")
    writer.add_name("test")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(rushlight.RushlightError, match="transformers cannot read .*other.gguf: ") as error:
        rushlight.export_text(other, None, path.with_suffix(".rush"))
    assert error.value.code == "unsupported"


@pytest.mark.parametrize("settings,says", [
    ({"num_hidden_layers": 2_000_000_000}, "its metadata has 2000000000 layers, but it has"),
    ({"intermediate_size": 100_000_000}, "its metadata has .* parameters, but its tensors have"),
    ({"intermediate_size": 136}, "size mismatch"),
    ({"num_hidden_layers": 3}, "lacks"),
])
def test_settings_that_do_not_fit_the_tensors_are_refused(path, settings, says):
    model = gguf_models.decoder("llama")
    for name, value in settings.items():
        setattr(model.config, name, value)
    gguf_models.write(path, model, "llama")
    with pytest.raises(rushlight.RushlightError, match=f"(?s)cannot read .*m.gguf: .*{says}"):
        gguf_file.load(path)


def test_a_damaged_file_is_refused_in_words_or_read(path):
    gguf_models.write(path, gguf_models.decoder("llama"), "llama")
    data, refused = path.read_bytes(), 0
    damaged = [data[:end] for end in (0, 3, 24, 100, 1000, len(data) // 2)]
    damaged += [data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:] for at in (0, 4, 8, 12, 16, 20, 24, 31, 40, 57, 200, 1000)]
    for wrong in damaged:
        path.write_bytes(wrong)
        for read in (gguf_file.bits, gguf_file.load):
            try:
                read(path)
            except rushlight.RushlightError as error:
                refused += "m.gguf" in str(error)
    assert refused >= 2 * 10
