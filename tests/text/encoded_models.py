"""The models of encoded.test.js: they have an encoder and a decoder. With them are the answers of transformers."""

import rushlight
import text_models
import torch
import transformers
from transformers import generation
from transformers.models.whisper import tokenization_whisper

TEXTS = ["A cat.", "Dogs and owls, all of them, é.", "🦉"]
LANGUAGES = ["eng_Latn", "deu_Latn"]


def _answers(model, tokenizer, **more):
    out = []
    for text in TEXTS:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        out.append(model.generate(ids, do_sample=False, num_beams=1, **more)[0].tolist())
    return out


@torch.no_grad()
def write_seq2seq(folder, tokenizer):
    """Exports models whose generation_config.json has rules, and returns their names with the tokens of each text."""
    out = {}
    for name in "T5", "Bart", "Marian":
        torch.manual_seed(0)
        model = text_models.seq2seq(name)
        config = model.generation_config
        config.eos_token_id, config.max_length = None, 24
        plain = _answers(model, tokenizer)
        first, second = plain[0], plain[1]
        rules = {
            "T5": {"suppress_tokens": [first[2]], "bad_words_ids": [[second[3]], second[4:6]], "repetition_penalty": 1.2, "eos_token_id": [256]},
            "Bart": {"forced_bos_token_id": 33, "forced_eos_token_id": 256, "no_repeat_ngram_size": 2, "begin_suppress_tokens": [first[1]],
                     "eos_token_id": [256]},
            "Marian": {"eos_token_id": [first[3], second[3]], "min_length": 9},
        }[name]
        for key, value in rules.items():
            setattr(config, key, value)
        rushlight.export_text(model, tokenizer, folder / f"{name}.rush", length=40)
        answers = _answers(model, tokenizer)
        assert answers != plain
        begin = 1 + ("forced_bos_token_id" in rules)
        texts = [tokenizer.decode([t for t in answer[begin:] if t not in config.eos_token_id], skip_special_tokens=True) for answer in answers]
        out[name] = {"begin": begin, "answers": answers, "texts": texts}
    return {"texts": TEXTS, "models": out, "translator": _translator(folder)}


def _translator(folder):
    torch.manual_seed(0)
    tokenizer = text_models.tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": LANGUAGES})
    model = text_models.seq2seq("M2M100", vocab_size=260)
    model.generation_config.max_length = 16
    rushlight.export_text(model, tokenizer, folder / "translator.rush", length=40)
    return {code: _answers(model, tokenizer, forced_bos_token_id=tokenizer.convert_tokens_to_ids(code)) for code in LANGUAGES}


def rules_cases():
    """Returns random texts with the tokens that transformers' rules leave."""
    torch.manual_seed(2)
    out = []
    settings = {"no_repeat_ngram_size": 2, "bad_words_ids": [[3], [1, 2], [4, 5, 6], [9]], "min_length": 6, "min_new_tokens": 3,
                "suppress_tokens": [7, 8], "begin_suppress_tokens": [0, 5]}
    processors = [
        generation.NoRepeatNGramLogitsProcessor(2), generation.NoBadWordsLogitsProcessor(settings["bad_words_ids"], torch.tensor([9])),
        generation.MinLengthLogitsProcessor(6, torch.tensor([9])), generation.MinNewTokensLengthLogitsProcessor(1, 3, torch.tensor([9])),
        generation.SuppressTokensLogitsProcessor([7, 8]), generation.SuppressTokensAtBeginLogitsProcessor([0, 5], 2),
        generation.ForcedEOSTokenLogitsProcessor(12, [9])]
    for length in [*range(2, 12)] * 6:
        context, scores = torch.randint(7, (1, length)), torch.randn(1, 12)
        for step in processors[-1:] if length == 11 else processors:
            scores = step(context, scores)
        out.append({"context": context[0].tolist(), "kept": scores[0].isfinite().nonzero()[:, 0].tolist()})
    return {"rules": {**settings, "forced_eos_token_id": 9}, "cases": out}


def time_cases():
    """Returns random texts with the tokens that transformers' rules of timestamps leave. Numbers from 12 on are timestamps."""
    torch.manual_seed(3)
    config = transformers.GenerationConfig(eos_token_id=9, no_timestamps_token_id=11, max_initial_timestamp_index=4)
    step = generation.WhisperTimeStampLogitsProcessor(config, begin_index=2)
    out = []
    for i in range(200):
        context, scores = torch.randint(2 + i % 19, (1, 2 + i % 6)), torch.randn(1, 22)
        scores[:, 12:] -= 3 * (i % 2)
        left = step(context, scores)[0].isfinite().nonzero()[:, 0].tolist()
        if left:
            out.append({"context": context[0].tolist(), "scores": scores[0].tolist(), "kept": left})
    return out


# ---- Whisper

WINDOW, HOP = 16000, 160


def _sound(count):
    return 0.3 * torch.sin(torch.arange(count) / 7 + torch.arange(count) ** 2 / 3e6) + 0.05 * torch.randn(count)


def _window(model, samples, options):
    """Returns what transformers writes for a window: tokens after the prompt, the length of the prompt, and the result."""
    made = model.generate(text_models.whisper_features(samples), return_dict_in_generate=True, force_unique_generate_call=True, **options)
    sequence = (made["sequences"] if isinstance(made, dict) else made)[0]
    begin = 3 if options["return_timestamps"] else 4
    tokens = sequence[begin:]
    return (tokens[:-1] if tokens[-1] == model.generation_config.eos_token_id else tokens), begin, made


def _transcript(model, tokenizer, samples, language, task, timestamps):
    """Transcribes in windows by transformers' generate() and _retrieve_segment()."""
    detected = int(model.detect_language(text_models.whisper_features(samples[:WINDOW])))
    code = language or {259: "en", 260: "de"}[detected]
    timed = bool(timestamps) or len(samples) > WINDOW
    options = {"language": code, "task": task, "return_timestamps": timed, "return_token_timestamps": timestamps == "word"}
    at, segments, words = 0, [], []
    while at == 0 or len(samples) - at >= HOP:
        part = samples[at:at + WINDOW]
        frames = torch.tensor([len(part) // HOP])
        more = {"num_frames": frames} if timestamps == "word" else {}
        tokens, begin, made = _window(model, part, {**options, **more})
        result = {"token_timestamps": made["token_timestamps"][0]} if timestamps == "word" else {}
        found, step = model._retrieve_segment(
            seek_sequence=tokens, seek_outputs=[result], time_offset=torch.tensor([at / 16000], dtype=torch.float64), timestamp_begin=264,
            seek_num_frames=frames, time_precision=0.02, time_precision_features=0.01, input_stride=2, prev_idx=0, idx=0,
            return_token_timestamps=timestamps == "word", decoder_input_ids=torch.zeros(1, begin))
        for segment in found:
            kept = [(i, t) for i, t in enumerate(segment["tokens"].tolist()) if t < 256]
            segments.append({"text": tokenizer.decode([t for _, t in kept]), "start": round(float(segment["start"]), 2),
                             "end": round(float(segment["end"]), 2)})
            if timestamps == "word":
                words += _words(tokenizer, kept, segment["token_timestamps"].tolist(), code)
        at += int(step) * HOP if timed else WINDOW
    return {"text": "".join(segment["text"] for segment in segments), "language": code, "segments": segments, "words": words}


def _words(tokenizer, kept, times, code):
    spoken = [(round(times[i - 1], 2), round(times[i], 2)) for i, _ in kept]
    name = {"en": "english", "de": "german"}[code]
    texts, _, indices = tokenization_whisper._combine_tokens_into_words(tokenizer, [t for _, t in kept], name)
    return [{"text": text, "start": spoken[at[0]][0], "end": spoken[at[-1]][1]} for text, at in zip(texts, indices)]


@torch.no_grad()
def write_whisper(folder, tokenizer):
    torch.manual_seed(0)
    model = text_models.whisper()
    config = model.generation_config
    config.max_length, config.max_initial_timestamp_index, config.eos_token_id = 48, 20, 256
    # A part of a character makes transformers' words fail.
    config.suppress_tokens = [token for letter, token in tokenizer.get_vocab().items() if letter != "Ġ" and not "!" <= letter <= "~"]
    rushlight.export_text(model, tokenizer, folder / "whisper.rush")
    cases = []
    for count, language, task, timestamps in ((9000, None, "transcribe", False), (16000, "de", "translate", False),
                                              (12345, None, "transcribe", True), (40000, "en", "transcribe", True),
                                              (52001, None, "transcribe", "word"), (15999, "en", "transcribe", "word"),
                                              (33000, None, "transcribe", False)):
        samples = _sound(count)
        cases.append({"samples": samples.tolist(), "options": {"task": task, "timestamps": timestamps, **({"language": language} if language else {})},
                      **_transcript(model, tokenizer, samples, language, task, timestamps)})
    return cases


def word_cases(tokenizer):
    """Returns texts with the words that transformers finds."""
    texts = [" Hello, world! It's (quite) fine.", "\"¿Qué?\" – said she...", "河流，かわ。 강 🦉🦉", " a-b 'c d' [e]"]
    out = []
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        for code, name in ("en", "english"), ("zh", "chinese"):
            words, _, indices = tokenization_whisper._combine_tokens_into_words(tokenizer, ids, name)
            out.append({"tokens": ids, "language": code, "words": [{"text": w, "at": at} for w, at in zip(words, indices)]})
    return out
