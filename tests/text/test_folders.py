"""export_text() of folders: damaged files are refused in words, in little time and memory."""

import json
import tracemalloc

import pytest
import rushlight
import safetensors.torch
import text_models
from rushlight.text import folder

NAME = "model.layers.0.mlp.up_proj.weight"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("folder")
    text_models.decoder("Llama").save_pretrained(path)
    text_models.tokenizer().save_pretrained(path)
    return path


@pytest.fixture
def path(whole):
    """The folder, whose files are restored behind the test."""
    kept = {file: file.read_bytes() for file in whole.iterdir()}
    yield whole
    for file, data in kept.items():
        file.write_bytes(data)


def refusal(path):
    """Returns why the folder is refused."""
    tracemalloc.start()
    try:
        with pytest.raises(rushlight.RushlightError) as error:
            folder.load(path, None)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()
    assert error.value.code == "unsupported"
    start = f"transformers cannot read {path}: "
    assert str(error.value).startswith(start) and len(str(error.value)) < 1000
    return str(error.value)[len(start):]


def parts(data):
    size = int.from_bytes(data[:8], "little")
    return data[8:8 + size], data[8 + size:]


def with_header(data, header):
    text = header if isinstance(header, bytes) else header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + parts(data)[1]


def test_the_whole_folder_is_read(path):
    model, tokenizer, settings = folder.load(path, None)
    assert type(model).__name__ == "LlamaForCausalLM" and tokenizer.is_fast and settings == {}


LENGTHS = [0, 1, -1, 1, 100_000_001, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1]


def test_a_header_of_another_length_and_a_file_that_is_cut_off_are_refused(path):
    file = path / "model.safetensors"
    data = file.read_bytes()
    size = len(parts(data)[0])
    for length in [size + n if abs(n) == 1 else n for n in LENGTHS]:
        file.write_bytes(length.to_bytes(8, "little") + data[8:])
        refusal(path)
    for end in (0, 1, 7, 8, 9, 100, 8 + size, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:end])
        refusal(path)
    file.write_bytes(data + b"x")
    refusal(path)


HEADERS = [b"", b"[]", b"null", b"5", b'"x"', b"{", b"\xff\xfe{}", b'{"\xff": 1}', b"[" * 100_000, b'{"a":' * 100_000, b'{"a": {}}',
           b'{"a": []}', b'{"__metadata__": 5}', b'{"__metadata__": {"format": []}}']


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: repr(h[:20]))
def test_a_header_of_another_form_is_refused(header, path):
    file = path / "model.safetensors"
    file.write_bytes(with_header(file.read_bytes(), header))
    refusal(path)


ROWS = 96 * 48 * 4
FIELDS = {
    "dtype": [None, 5, "F99", "F64", "F16", "", [], {}],
    "shape": [None, 5, "x", [-1, 48], [1.5, 48], [48], [96, 49], [1 << 62, 1 << 62], [1 << 64, 1], [[96], 48], [96, 48, 0], {}],
    "data_offsets": [None, 5, [], [0], [-1, ROWS - 1], [1, ROWS + 1], [0, 1 << 63], [1 << 63, (1 << 63) + ROWS], [ROWS, 0], [0.5, 1.5],
                     ["0", "1"], [0, ROWS, 0], {}],
}


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_of_a_tensor_with_other_values_is_refused(field, path):
    file = path / "model.safetensors"
    data = file.read_bytes()
    for value in FIELDS[field]:
        header = json.loads(parts(data)[0])
        assert NAME in header and header[NAME][field] != value
        header[NAME][field] = value
        file.write_bytes(with_header(data, header))
        refusal(path)


def test_tensors_that_overlap_and_gaps_are_refused(path):
    file = path / "model.safetensors"
    data = file.read_bytes()
    header = json.loads(parts(data)[0])
    for at in ([0, ROWS], [n + len(parts(data)[1]) for n in (0, ROWS)]):  # the bytes of others, and bytes after the file
        other = json.loads(json.dumps(header))
        other[NAME]["data_offsets"] = at
        file.write_bytes(with_header(data, other))
        refusal(path)
    del header[NAME]
    file.write_bytes(with_header(data, header))
    refusal(path)


def test_weights_of_other_names_or_shapes_are_refused(path):
    file = path / "model.safetensors"
    tensors = safetensors.torch.load(file.read_bytes())
    safetensors.torch.save_file({name: t for name, t in tensors.items() if name != NAME}, file, {"format": "pt"})
    assert refusal(path) == f"the files must have all weights of the model, but lack {NAME}"
    safetensors.torch.save_file({name + "_" * (name == NAME): t for name, t in tensors.items()}, file, {"format": "pt"})
    assert refusal(path) == f"the files must have all weights of the model, but lack {NAME}"
    safetensors.torch.save_file({**tensors, NAME: tensors[NAME].t().contiguous()}, file, {"format": "pt"})
    refusal(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "{}", '{"model_type": 5}', '{"model_type": "no such"}', "[" * 100_000],
                         ids=lambda text: text[:30])
def test_a_config_of_another_form_is_refused(text, path):
    (path / "config.json").write_text(text)
    refusal(path)


@pytest.mark.parametrize("name", ["logging", "AutoTokenizer", "AutoConfig", "__name__", "no_such_name", ""])
def test_the_class_of_a_config_is_a_model(name, path):
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "architectures": [name]}))
    assert type(folder.load(path, None)[0]).__name__ == "LlamaModel"


@pytest.mark.parametrize("text", ["", "[", "5", "[5]", "[{}]", '[{"type": 5, "path": 5}]', '[{"type": "a.Pooling", "path": "none"}]'])
def test_modules_of_another_form_are_refused(text, path):
    (path / "modules.json").write_text(text)
    try:
        refusal(path)
    finally:
        (path / "modules.json").unlink()
