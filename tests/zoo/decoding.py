"""Runs gpt2, llama and whisper of transformers with their caches, token by token: `./dev zoo --decoding`.

Each call takes a DynamicCache of any length and returns it. A StaticCache is state of the program. Both are exported as in
transformers.integrations.executorch. Each step is compared with the model's own, natively, in Node and in Chromium.
"""

import dataclasses
import json
import os
import subprocess
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # weights are random
import entry  # noqa: E402, F401, I001 - reference, before torch
import torch  # noqa: E402
import rushlight  # noqa: E402
import transformers  # noqa: E402
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402
from transformers import DynamicCache, EncoderDecoderCache, StaticCache  # noqa: E402
from transformers.integrations import executorch  # noqa: E402
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS  # noqa: E402
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: E402

HERE = Path(__file__).resolve().parent
WORDS, WIDTH, HEADS, LAYERS, ROOM, SOUND = 120, 64, 4, 2, 32, 20
PROMPT, STEPS = 5, 8

executorch.register_dynamic_cache_export_support()
# Masks are made without vmap, as in executorch.py, because torch.export does not support it.
ALL_MASK_ATTENTION_FUNCTIONS.register("sdpa_without_vmap", executorch.sdpa_mask_without_vmap)
ALL_ATTENTION_FUNCTIONS.register("sdpa_without_vmap", ALL_ATTENTION_FUNCTIONS["sdpa"])


@dataclasses.dataclass
class Case:
    program: object
    start: dict  # inputs of the first step
    steps: list  # the new inputs of each step
    want: list  # logits
    goes_round: str = ""  # the output that the next step takes as input
    output_names: tuple = ()


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=WORDS, n_positions=ROOM, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=96, num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=2,
        max_position_embeddings=ROOM))


def whisper():
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=WORDS, num_mel_bins=16, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=96, decoder_ffn_dim=96, max_source_positions=SOUND, max_target_positions=ROOM,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3))


def fresh(cache):
    new = DynamicCache()
    for i, layer in enumerate(cache.layers):
        new.update(layer.keys.clone(), layer.values.clone(), i)
    return new


def tokens_of_steps():
    return [{"input_ids": torch.randint(WORDS, (1, 1)), "cache_position": torch.tensor([PROMPT + i])} for i in range(STEPS)]


def each_length(dim):
    """Returns the dynamic shapes of a cache: keys, values."""
    return [[{2: dim}] * LAYERS] * 2


def dynamic(make):
    """Exports an unchanged decoder. The model itself has run the prompt."""
    model, steps = make().eval(), tokens_of_steps()
    model.config._attn_implementation = "sdpa_without_vmap"
    cache = model(torch.randint(WORDS, (1, PROMPT))).past_key_values
    example = {**steps[0], "past_key_values": fresh(cache)}
    shapes = {"input_ids": None, "cache_position": None, "past_key_values": each_length(Dim("length", min=1, max=ROOM - 1))}
    program = torch.export.export(model, (), example, dynamic_shapes=shapes, strict=False)
    start = {"past_key_values": fresh(cache)}
    return Case(program, start, steps, [model(**step, past_key_values=cache).logits for step in steps], "past_key_values")


def static(make):
    """Exports a decoder with its cache as state. The prompt is a step of several tokens."""
    model = make().eval()
    model.generation_config = transformers.GenerationConfig(use_cache=True, cache_implementation="static",
                                                            cache_config={"batch_size": 1, "max_cache_len": ROOM})
    n = Dim("n", min=1, max=ROOM - 1)
    program = executorch.convert_and_export_with_cache(model, torch.randint(WORDS, (1, 3)), torch.arange(3), strict=False,
                                                       dynamic_shapes={"input_ids": {1: n}, "cache_position": {0: n}})
    steps = [{"input_ids": torch.randint(WORDS, (1, PROMPT)), "cache_position": torch.arange(PROMPT)}, *tokens_of_steps()]
    cache = DynamicCache()
    return Case(program, {}, steps, [model(**step, past_key_values=cache).logits for step in steps])


class WhisperStep(nn.Module):
    """The decoder with the caches of both attentions as arguments. The cross-attention cache never changes."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, cache_position, sound, past_key_values):
        return self.step(input_ids, cache_position, sound, past_key_values)

    def step(self, input_ids, cache_position, sound, own):
        both = EncoderDecoderCache(own, sound)
        hidden = torch.zeros(1, SOUND, WIDTH)  # unused, because the cache has its keys and values
        out = self.model.model.decoder(input_ids, encoder_hidden_states=hidden, past_key_values=both, cache_position=cache_position, use_cache=True)
        return self.model.proj_out(out.last_hidden_state), out.past_key_values.self_attention_cache


class WhisperInside(WhisperStep):
    """The decoder with its self-attention cache as state. The cross-attention cache is an argument."""

    def __init__(self, model):
        super().__init__(model)
        self.own = StaticCache(model.config, ROOM)
        self.own.early_initialization(1, HEADS, WIDTH // HEADS, torch.float32, "cpu")
        for i, layer in enumerate(self.own.layers):
            self.register_buffer(f"keys_{i}", layer.keys)
            self.register_buffer(f"values_{i}", layer.values)

    def forward(self, input_ids, cache_position, sound):
        return self.step(input_ids, cache_position, sound, self.own)[0]


def whisper_listens():
    """Returns (a model that has encoded a sound, its output for a prompt)."""
    model = whisper().eval()
    model.config._attn_implementation = "sdpa_without_vmap"
    return model, model(input_features=torch.randn(1, 16, 2 * SOUND), decoder_input_ids=torch.randint(WORDS, (1, PROMPT)), use_cache=True)


def whisper_says(model, heard, steps, own, sound):
    """Returns the model's own logits, step by step."""
    both = EncoderDecoderCache(own, sound)
    return [model(encoder_outputs=(heard.encoder_last_hidden_state,), decoder_input_ids=step["input_ids"], past_key_values=both,
                  cache_position=step["cache_position"], use_cache=True).logits for step in steps]


def whisper_dynamic():
    (model, heard), steps = whisper_listens(), tokens_of_steps()
    own, sound = heard.past_key_values.self_attention_cache, heard.past_key_values.cross_attention_cache
    example = (*steps[0].values(), fresh(sound), fresh(own))
    shapes = (None, None, [[None] * LAYERS] * 2, each_length(Dim("length", min=1, max=ROOM - 1)))
    program = torch.export.export(WhisperStep(model).eval(), example, dynamic_shapes=shapes, strict=False)
    start = {"sound": fresh(sound), "past_key_values": fresh(own)}
    return Case(program, start, steps, whisper_says(model, heard, steps, own, sound), "past_key_values", ("logits", "past_key_values"))


def whisper_static():
    model, heard = whisper_listens()
    steps = [{"input_ids": torch.randint(WORDS, (1, PROMPT)), "cache_position": torch.arange(PROMPT)}, *tokens_of_steps()]
    sound, n = heard.past_key_values.cross_attention_cache, Dim("n", min=1, max=ROOM - 1)
    program = torch.export.export(WhisperInside(model).eval(), (torch.randint(WORDS, (1, 3)), torch.arange(3), fresh(sound)),
                                  dynamic_shapes=({1: n}, {0: n}, [[None] * LAYERS] * 2), strict=False)
    return Case(program, {"sound": fresh(sound)}, steps, whisper_says(model, heard, steps, DynamicCache(), sound))


CASES = {
    "gpt2 with DynamicCache": lambda: dynamic(gpt2), "gpt2 with StaticCache": lambda: static(gpt2),
    "llama with DynamicCache": lambda: dynamic(llama), "llama with StaticCache": lambda: static(llama),
    "whisper with DynamicCache": whisper_dynamic, "whisper with StaticCache": whisper_static,
}


def parts(came):
    """Splits a result into (logits, cache or None)."""
    if hasattr(came, "logits"):
        return came.logits, getattr(came, "past_key_values", None)
    return came if isinstance(came, tuple) else (came, None)


def natively(case, path):
    session, given, most = rushlight.load(str(path)), dict(case.start), 0.0
    for step, want in zip(case.steps, case.want):
        logits, cache = parts(session(**step, **given))
        torch.testing.assert_close(logits, want, rtol=1e-4, atol=1e-5)
        most = max(most, float((logits - want).abs().max()))
        if case.goes_round:
            given[case.goes_round] = cache
    return most


def plain(value):
    if isinstance(value, DynamicCache):
        return [[plain(layer.keys) for layer in value.layers], [plain(layer.values) for layer in value.layers]]
    return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "data": value.flatten().tolist()}


def in_javascript(case, path):
    """Returns the largest difference in Node, in a page and in a worker."""
    told = {"start": {name: plain(v) for name, v in case.start.items()}, "goesRound": case.goes_round, "answer": "logits",
            "steps": [{name: plain(v) for name, v in step.items()} for step in case.steps], "want": [plain(w) for w in case.want]}
    node = subprocess.run(["node", HERE / "decoding.mjs", path], input=json.dumps(told), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(node.stdout)


def main(folder):
    """Prints a line for each model. Raises if one differs."""
    for name, make in CASES.items():
        torch.manual_seed(0)
        with torch.no_grad():
            case = make()
        path = folder / "decoding.rush"
        rushlight.export(case.program, None, path, output_names=case.output_names)
        most = in_javascript(case, path)
        print(f"{name}: {len(case.steps)} steps, max abs {natively(case, path):.1g} natively, {most['node']:.1g} in Node, "
              f"{most['page']:.1g} in a page, {most['worker']:.1g} in its worker", flush=True)
        path.unlink()
