"""export_text(): models of transformers, with their tokenizer, in one file."""

import copy
import gc
import json
import pathlib

import pytest
import rushlight
import text_models
import torch
import transformers


@torch.no_grad()
def logits_in_pieces(session, ids, prompt):
    """Returns the logits after the prompt, and after each token behind it."""
    got = [session(ids[:, :prompt], torch.tensor(0))]
    return torch.cat(got + [session(ids[:, i:i + 1], torch.tensor(i)) for i in range(prompt, ids.size(1))])


@pytest.mark.parametrize("name", text_models.DECODERS)
def test_a_decoder_gives_transformers_logits_at_a_prompt_and_at_each_step(name, out):
    model = text_models.decoder(name)
    report = rushlight.export_text(model, text_models.tokenizer(), out, length=48)
    ids = torch.randint(256, (1, 30))  # far beyond a window of 8
    with torch.no_grad():
        want = model(ids).logits[0, 8:]
    session = rushlight.load(out)
    torch.testing.assert_close(logits_in_pieces(session, ids, 9), want, rtol=1e-4, atol=1e-6)
    # An earlier position goes back, and the rows after it do not matter.
    torch.testing.assert_close(session(ids[:, 12:15], torch.tensor(12)), want[6:7], rtol=1e-4, atol=1e-6)
    assert "tokens [1, 1]" in report.verified_sizes and not [w for w in report.warnings if "replaces" in w]
    assert model.config._attn_implementation != "rushlight"


def test_the_same_greedy_tokens(out):
    model, tokenizer = text_models.decoder("Llama"), text_models.tokenizer()
    rushlight.export_text(model, tokenizer, out, length=64)
    session = rushlight.load(out)
    ids = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], add_generation_prompt=True, return_tensors="pt", return_dict=False)
    want = model.generate(ids, max_new_tokens=12, do_sample=False, eos_token_id=None)[0, ids.size(1):].tolist()
    got, position = [], 0
    while len(got) < 12:
        logits = session(ids, torch.tensor(position))
        position += ids.size(1)
        got.append(int(logits.argmax()))
        ids = torch.tensor([got[-1:]])
    assert got == want


def test_the_file_has_what_a_page_needs_and_no_zeros(out):
    model, tokenizer = text_models.decoder("Llama"), text_models.tokenizer()
    report = rushlight.export_text(model, tokenizer, out, length=4096, assets={"LICENSE": "none"})
    session = rushlight.load(out)
    assert session.assets() == ["LICENSE", "chat_template.jinja", "generation_config.json", "text.json", "tokenizer.json",
                                "tokenizer_config.json"]
    facts = json.loads(session.asset("text.json"))
    assert facts == {"version": 1, "task": "generate", "length": 4096, "words": 258, "stop": [256],
                     "tokens": {"eos_token": "<|end|>", "pad_token": "<|pad|>"}}
    assert session.asset("chat_template.jinja").decode() == text_models.TEMPLATE
    assert json.loads(session.asset("tokenizer.json")) == json.loads(tokenizer.backend_tokenizer.to_str())
    parameters = sum(p.numel() * 4 for p in model.parameters())
    assert report.weights_bytes < 1.1 * parameters  # the cache alone would have 4 times as many bytes


def test_a_full_cache_is_an_error_that_says_its_length(out):
    rushlight.export_text(text_models.decoder("Llama"), text_models.tokenizer(), out, length=16)
    session = rushlight.load(out)
    with pytest.raises(rushlight.RushlightError, match="must have room for 17 tokens, but its length is 16") as error:
        session(torch.zeros(1, 2, dtype=torch.int64), torch.tensor(15))
    assert error.value.code == "model-raised"


def test_quantized_files(out):
    report = rushlight.export_text(text_models.decoder("Qwen3"), text_models.tokenizer(), out, length=32, quantize="int8-weights")
    assert report.quantized["cosine"] > 0.99


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", [name for name in ("Llama", "Gemma3Text", "GPT2") if name in text_models.DECODERS])
def test_a_checkpoint_in_half_precision_computes_in_float32(name, dtype, out):
    model = text_models.decoder(name).to(dtype)
    report = rushlight.export_text(model, text_models.tokenizer(), out, length=48)
    wide = copy.deepcopy(model).float()
    ids = torch.randint(256, (1, 20))
    with torch.no_grad():
        want = wide(ids).logits[0, 8:]
    torch.testing.assert_close(logits_in_pieces(rushlight.load(out), ids, 9), want, rtol=1e-4, atol=1e-6)
    halves = sum(p.numel() * 2 for p in model.parameters())
    assert report.weights_bytes < 1.15 * halves and next(model.parameters()).dtype == dtype


@pytest.mark.parametrize("quantize", ["int8", "int4"])
def test_a_checkpoint_in_half_precision_is_quantized_like_float32(quantize, out, tmp_path):
    model = text_models.decoder("Llama").to(torch.bfloat16)
    report = rushlight.export_text(model, text_models.tokenizer(), out, length=32, quantize=quantize)
    wide = rushlight.export_text(model.float(), text_models.tokenizer(), tmp_path / "w.rush", length=32, quantize=quantize)
    assert report.quantized["layers"] == wide.quantized["layers"] > 0 and report.weights_bytes < wide.weights_bytes
    ids = torch.randint(256, (1, 9))
    torch.testing.assert_close(logits_in_pieces(rushlight.load(out), ids, 8), logits_in_pieces(rushlight.load(tmp_path / "w.rush"), ids, 8))


CONFIGS = {
    "Mamba": ({"vocab_size": 258, "hidden_size": 48, "num_hidden_layers": 2}, "that keep other state than keys and values"),
    "Lfm2": ({**text_models.SIZES, "layer_types": ["conv", "full_attention"]}, "of the kinds conv that keep other state"),
    "Bloom": ({"vocab_size": 258, "hidden_size": 48, "n_layer": 2, "n_head": 6},
              r"does not take an attention function .*newer version may have it\. export\(\) takes a module that runs one step"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_other_decoders_are_refused_by_name(name, out):
    sizes, message = CONFIGS[name]
    if not hasattr(transformers, f"{name}Config"):
        pytest.skip(f"transformers {transformers.__version__} has no {name}")
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{name}Config")(**sizes))
    with pytest.raises(rushlight.RushlightError, match=f"{name}ForCausalLM .*{message}") as error:
        rushlight.export_text(model, text_models.tokenizer(), out)
    assert error.value.code == "unsupported"


@pytest.mark.skipif(not transformers.__version__.startswith("4.57"), reason="other versions call experts in another way")
def test_a_mixture_of_experts_that_a_trace_cannot_keep_is_refused_by_name(out):
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(**text_models.SIZES, num_local_experts=6)).eval()
    with pytest.raises(rushlight.RushlightError, match="MixtralForCausalLM calls in Python only .* one step") as error:
        rushlight.export_text(model, text_models.tokenizer(), out)
    assert error.value.code == "unsupported" and error.value.__cause__ is not None


def test_other_models_are_refused_by_name(out):
    with pytest.raises(rushlight.RushlightError, match=r"got BertForQuestionAnswering: export\(\) takes"):
        rushlight.export_text(text_models.bert("ForQuestionAnswering"), text_models.tokenizer(), out)


def test_a_model_that_takes_no_mask_is_refused_by_name(out):
    sizes = {name: text_models.SIZES[name] for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")}
    model = transformers.FNetModel(transformers.FNetConfig(**sizes, pad_token_id=257))
    with pytest.raises(rushlight.RushlightError, match="FNetModel cannot run as .* TypeError: .*attention_mask") as error:
        rushlight.export_text(model, text_models.tokenizer(), out)
    assert error.value.code == "unsupported" and isinstance(error.value.__cause__, TypeError)


@pytest.mark.parametrize("change, message", [
    (lambda m: {"model": torch.nn.Linear(2, 2)}, "model must be a model of transformers, or the path of its folder, got Linear"),
    (lambda m: {"model": m.to(torch.float64)}, "must have weights in float32, bfloat16 or float16, got torch.float64"),
    (lambda m: {"length": 0}, "length must be a whole number of at least 1, got 0"),
    (lambda m: {"pooling": "median"}, "pooling must be one of mean, cls, max, last, got 'median'"),
])
def test_wrong_arguments(change, message, out):
    model = text_models.decoder("Llama")
    with pytest.raises(ValueError, match=message):
        rushlight.export_text(**{"model": model, "tokenizer": text_models.tokenizer(), "path": out, **change(model)})


# ---- Encoders

TEXTS = ["A cat.", "Dogs and owls, all of them.", "é"]


def encoded(tokenizer):
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    return batch["input_ids"], batch["attention_mask"]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
def test_embeddings(pooling, out):
    model, tokenizer = text_models.bert("Model"), text_models.tokenizer()
    rushlight.export_text(model, tokenizer, out, pooling=pooling, normalize=pooling != "cls")
    session = rushlight.load(out)
    assert json.loads(session.asset("text.json"))["pooling"] == pooling
    ids, mask = encoded(tokenizer)
    got = session(ids, mask, torch.zeros_like(ids))
    for row, text in enumerate(TEXTS):  # each text alone, without padding
        with torch.no_grad():
            hidden = model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False)).last_hidden_state[0]
        want = {"mean": hidden.mean(0), "cls": hidden[0], "max": hidden.amax(0), "last": hidden[-1]}[pooling]
        want = want if pooling == "cls" else want / want.norm()
        torch.testing.assert_close(got[row], want, rtol=1e-4, atol=1e-5)


def test_a_folder_of_sentence_transformers(out, tmp_path):
    folder = tmp_path / "sentences"
    model = text_models.bert("Model")
    model.save_pretrained(folder)
    text_models.tokenizer().save_pretrained(folder)
    kinds = {"": "Transformer", "1_Pooling": "Pooling"}
    (folder / "modules.json").write_text(json.dumps([{"path": path, "type": f"sentence_transformers.models.{kind}"}
                                                     for path, kind in kinds.items()]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    rushlight.export_text(folder, None, out)
    facts = json.loads(rushlight.load(out).asset("text.json"))
    assert (facts["task"], facts["pooling"], facts["normalize"]) == ("embed", "cls", False)


@pytest.mark.parametrize("kind, task", [("ForSequenceClassification", "classify"), ("ForTokenClassification", "tokens")])
def test_classification(kind, task, out):
    model = text_models.bert(kind, id2label={0: "no", 1: "yes", 2: "other"}, label2id={"no": 0, "yes": 1, "other": 2})
    tokenizer = text_models.tokenizer()
    rushlight.export_text(model, tokenizer, out)
    session = rushlight.load(out)
    facts = json.loads(session.asset("text.json"))
    assert (facts["task"], facts["labels"], facts["several"]) == (task, ["no", "yes", "other"], False)
    ids, mask = encoded(tokenizer)
    with torch.no_grad():
        want = model(ids, mask).logits
    torch.testing.assert_close(session(ids, mask, torch.zeros_like(ids)), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("has_types", [False, True])
def test_a_model_gets_types_if_its_tokenizer_gives_them(has_types, out):
    """GPT-2 adds the embeddings of the words that the types are: those of zeros, too."""
    config = text_models.DECODERS["GPT2"](transformers.GPT2Config)
    config.pad_token_id = 257
    model, tokenizer = transformers.GPT2ForSequenceClassification(config).eval(), text_models.tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask", *["token_type_ids"] * has_types]
    rushlight.export_text(model, tokenizer, out)
    session = rushlight.load(out)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        want = model(**batch).logits
    names = ["input_ids", "attention_mask", "token_type_ids"][:2 + has_types]
    torch.testing.assert_close(session(*(batch[name] for name in names)), want, rtol=1e-4, atol=1e-5)
    assert json.loads(session.asset("text.json"))["types"] == has_types


def test_an_encoder_may_have_for_in_its_name(out):
    model = transformers.RoFormerModel(transformers.RoFormerConfig(
        vocab_size=258, embedding_size=48, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=6)).eval()
    tokenizer = text_models.tokenizer()
    rushlight.export_text(model, tokenizer, out, pooling="cls", normalize=False)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        want = model(**batch).last_hidden_state[:, 0]
    got = rushlight.load(out)(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def resident(name):
    line, = (line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) << 10


def test_a_folder_in_half_precision_is_quantized_in_bounded_memory(out, tmp_path):
    sizes = {**text_models.SIZES, "hidden_size": 1536, "intermediate_size": 6144, "num_hidden_layers": 2}
    text_models.tokenizer().save_pretrained(tmp_path)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).to(torch.bfloat16).save_pretrained(tmp_path)
    weights = (tmp_path / "model.safetensors").stat().st_size
    rushlight.export_text(text_models.decoder("Llama"), text_models.tokenizer(), out, length=48)  # loads all code
    gc.collect()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # sets VmHWM to VmRSS
    before = resident("VmRSS")
    report = rushlight.export_text(tmp_path, None, out, length=48, quantize="int8")
    peak = resident("VmHWM") - before
    assert report.verified and weights > 100 << 20
    # The mapped pages of the file are the model: it has its weights once, and 1.5 times for the export.
    assert peak < 2.5 * weights + (20 << 20), f"{peak / weights:.2f} times the weights"
