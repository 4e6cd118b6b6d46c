"""Exports the models of the tests into a folder, with the answers of transformers: python3 export_models.py FOLDER"""

import json
import pathlib
import random
import sys

import encoded_models
import gguf_models
import rushlight
import text_models
import torch
import trained
import transformers
from transformers import generation

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import language_models  # noqa: E402
from text_onnx import onnx_of  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
MESSAGES = [{"role": "user", "content": "Hi, é!"}]
# A word in each of twenty scripts, and what splits in odd ways.
WORDS = ["river", "реката", "ποτάμι", "नदी", "নদী", "ஆறு", "నది", "ನದಿ", "നദി", "ನದಿ", "แม่น้ำ", "ແມ່ນ້ຳ", "မြစ်", "ទន្លេ", "नदी",
         "河流", "かわ", "カワ", "강", "نهر", "נהר", "գետ", "მდინარე", "ወንዝ", "ᎨᏴᏥ", "🦉", "👩‍👩‍👧", "e\u0301", "\u200d", "ﬁ", "  ", "\n", "\t", "12", "3.5",
         "don't", "<|end|>", "I'll", "#!", "ǅ", "İ", "ß", "\ufeff", "\u00a0"]


def lines(count, seed=0):
    """Returns lines of words of all scripts."""
    draw = random.Random(seed)
    return ["".join(draw.choice(WORDS) + draw.choice(["", " ", " "]) for _ in range(draw.randint(1, 9))) for _ in range(count)]


def sampling_cases():
    """Returns scores after transformers' logits processors: {settings, seen, logits, kept: {token: probability}}."""
    torch.manual_seed(1)
    out = []
    for settings in ({"temperature": 0.7}, {"temperature": 1.3, "topK": 5}, {"temperature": 1.0, "topP": 0.8},
                     {"temperature": 0.9, "minP": 0.1}, {"temperature": 1.0, "topK": 7, "topP": 0.6, "repetitionPenalty": 1.4},
                     {"temperature": 2.0, "topK": 40, "topP": 0.95, "minP": 0.02, "repetitionPenalty": 0.8}):
        logits, seen = 3 * torch.randn(1, 60), torch.randint(60, (1, 9))
        steps = [generation.RepetitionPenaltyLogitsProcessor(settings.get("repetitionPenalty", 1.0)),
                 generation.TemperatureLogitsWarper(settings["temperature"])]
        if "topK" in settings:
            steps.append(generation.TopKLogitsWarper(settings["topK"]))
        steps.append(generation.TopPLogitsWarper(settings.get("topP", 1.0)))
        steps.append(generation.MinPLogitsWarper(settings.get("minP", 0.0)))
        scores = logits.clone()
        for step in steps:
            scores = step(seen, scores)
        probabilities = scores.softmax(-1)[0]
        out.append({"settings": settings, "seen": seen[0].tolist(), "logits": logits[0].tolist(),
                    "kept": {i: p for i, p in enumerate(probabilities.tolist()) if scores[0, i] > -1e30}})
    return out


@torch.no_grad()
def write_bench():
    """Writes models as the benchmark does for onnxruntime-web."""
    out = {}
    for architecture in "llama", "qwen3", "gemma3":
        for bits in language_models.BITS:
            torch.manual_seed(0)
            model = gguf_models.decoder(architecture, tie_word_embeddings=True)
            language_models.round_weights(model, bits)
            tokens = list(range(20, 32))
            name = f"{architecture}-int{bits}"
            about = {**language_models.sizes(model.config), "tokens": tokens, "limit": 0.05,
                     "logits": model(torch.tensor([tokens])).logits[0, -2:].tolist()}
            for file, unpack in ({name: False} if bits == 8 else {name: False, f"{name}-unpacked": True}).items():
                (FOLDER / f"{file}.onnx").write_bytes(onnx_of(model, bits, 64, unpack))
                out[file] = about
    (FOLDER / "bench.json").write_text(json.dumps(out))


@torch.no_grad()
def write_decoder(tokenizer):
    torch.manual_seed(0)
    model = text_models.decoder("GPT2")
    rushlight.export_text(model, tokenizer, FOLDER / "decoder.rush", length=48)
    ids = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True, return_tensors="pt")
    answer = model.generate(ids, max_new_tokens=12, do_sample=False, eos_token_id=None)[0]
    logits = model(answer[None]).logits[0, ids.size(1) - 1:-1].log_softmax(-1)
    new = answer[ids.size(1):]
    return {"messages": MESSAGES, "prompt": ids[0].tolist(), "answer": new.tolist(), "text": tokenizer.decode(new),
            "logProbabilities": logits.gather(1, new[:, None])[:, 0].tolist()}


@torch.no_grad()
def write_encoders(tokenizer):
    torch.manual_seed(0)
    texts = ["A cat.", "Dogs and owls, all of them.", "é"]
    embedder, classifier = text_models.bert("Model"), text_models.bert("ForSequenceClassification", id2label={0: "no", 1: "yes", 2: "other"})
    rushlight.export_text(embedder, tokenizer, FOLDER / "embedder.rush")
    rushlight.export_text(classifier, tokenizer, FOLDER / "classifier.rush")
    vectors, scores = [], []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        mean = embedder(ids).last_hidden_state.mean(1)[0]
        vectors.append((mean / mean.norm()).tolist())
        scores.append(classifier(ids).logits.softmax(-1)[0].tolist())
    return {"texts": texts, "vectors": vectors, "scores": scores}


PAIRS = [("Who?", "A cat."), ("Is it an owl?", "It is."), ("é", "🦉 and 12")]


def word_piece(made):
    """Returns a tokenizer with special tokens, for texts and pairs of texts."""
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]",
                                                cls_token="[CLS]", sep_token="[SEP]", pad_token="[SEP]", model_max_length=64)


@torch.no_grad()
def write_cross_encoder(tokenizer):
    """A cross-encoder has one label, the score of a pair."""
    model = text_models.bert("ForSequenceClassification", words=len(tokenizer), num_labels=1)
    torch.nn.init.normal_(model.classifier.weight, std=2.0)
    torch.nn.init.normal_(model.bert.embeddings.token_type_embeddings.weight, std=2.0)
    rushlight.export_text(model, tokenizer, FOLDER / "cross.rush")
    rows = [tokenizer(*pair, return_tensors="pt") for pair in PAIRS]
    return {"pairs": PAIRS, "pairScores": [model(row["input_ids"], token_type_ids=row["token_type_ids"]).logits.sigmoid()[0].item() for row in rows]}


SENTENCES = ["Ann lives in Bonn.", "é, 🦉 and\u00a0Zoë", "  two  spaces "]


def write_named_entities(tokenizer):
    """A model that labels tokens, and the parts that transformers' pipeline finds."""
    labels = dict(enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]))
    model = text_models.bert("ForTokenClassification", words=len(tokenizer), id2label=labels, label2id={v: k for k, v in labels.items()})
    torch.nn.init.normal_(model.classifier.weight, std=2.0)
    rushlight.export_text(model, tokenizer, FOLDER / "entities.rush")
    found = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="simple")(SENTENCES)
    return {"sentences": SENTENCES, "entities": [[[e["entity_group"], float(e["score"]), e["start"], e["end"]] for e in row] for row in found]}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    transformers.logging.set_verbosity_error()
    tokenizer = text_models.tokenizer()
    rushlight.export(torch.nn.ReLU(), (torch.ones(2),), FOLDER / "plain.rush")
    made = trained.trained(lines(4000, seed=1))
    texts, words = lines(10_000), word_piece(made["WordPiece"])
    facts = {**write_decoder(tokenizer), **write_encoders(tokenizer), **write_cross_encoder(words), **write_named_entities(words), "sampling": sampling_cases(),
             "lines": [[text, tokenizer(text)["input_ids"]] for text in texts]}
    (FOLDER / "expected.json").write_text(json.dumps(facts))
    encoded = {"seq2seq": encoded_models.write_seq2seq(FOLDER, tokenizer), "speech": encoded_models.write_whisper(FOLDER, tokenizer),
               "rules": encoded_models.rules_cases(), "times": encoded_models.time_cases(), "words": encoded_models.word_cases(tokenizer)}
    write_bench()
    (FOLDER / "encoded.json").write_text(json.dumps(encoded))
    kinds = {kind: {"tokenizer": json.loads(one.to_str()), "tokens": [one.encode(text).ids for text in texts],
                    "places": [one.encode(text, add_special_tokens=False).offsets for text in texts[:1000]]}
             for kind, one in made.items()}
    (FOLDER / "tokens.json").write_text(json.dumps(kinds))


if __name__ == "__main__":
    main()
