"""Exports the models of generate.test.js into a folder, with the answers of transformers: python3 export_models.py FOLDER"""

import json
import pathlib
import random
import sys

import rushlight
import text_models
import torch
import transformers
from transformers import generation

FOLDER = pathlib.Path(sys.argv[1])
MESSAGES = [{"role": "user", "content": "Hi, é!"}]
# A word in each of twenty scripts, and what splits in odd ways.
WORDS = ["river", "реката", "ποτάμι", "नदी", "নদী", "ஆறு", "నది", "ನದಿ", "നദി", "ನದಿ", "แม่น้ำ", "ແມ່ນ້ຳ", "မြစ်", "ទន្លេ", "नदी",
         "河流", "かわ", "カワ", "강", "نهر", "נהר", "գետ", "მდინარე", "ወንዝ", "ᎨᏴᏥ", "🦉", "👩‍👩‍👧", "e\u0301", "\u200d", "ﬁ", "  ", "\n", "\t", "12", "3.5",
         "don't", "<|end|>", "I'll", "#!", "ǅ", "İ", "ß", "\ufeff", "\u00a0"]


def lines(count):
    """Returns lines of words of all scripts."""
    draw = random.Random(0)
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


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    transformers.logging.set_verbosity_error()
    tokenizer = text_models.tokenizer()
    rushlight.export(torch.nn.ReLU(), (torch.ones(2),), FOLDER / "plain.rush")
    texts = lines(2000)
    facts = {**write_decoder(tokenizer), **write_encoders(tokenizer), "sampling": sampling_cases(),
             "lines": [[text, tokenizer(text)["input_ids"]] for text in texts]}
    (FOLDER / "expected.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
