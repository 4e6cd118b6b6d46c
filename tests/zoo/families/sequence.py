"""Networks for tokens, time series and memories."""

import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    """Runs packed sentences through a BiLSTM."""

    def __init__(self):
        super().__init__()
        self.words, self.read, self.tag = nn.Embedding(50, 12, padding_idx=0), nn.LSTM(12, 10, bidirectional=True, batch_first=True), nn.Linear(20, 6)

    def forward(self, words, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
        out, _ = nn.utils.rnn.pad_packed_sequence(self.read(packed)[0], batch_first=True, total_length=words.size(1))
        return self.tag(out).log_softmax(-1)


class Viterbi(nn.Module):
    """The best path through a chain of scores (CRF)."""

    def __init__(self, tags=5):
        super().__init__()
        self.score, self.step = nn.Linear(8, tags), nn.Parameter(torch.randn(tags, tags))

    def forward(self, x):
        score, back = self.score(x), []
        best = score[:, 0]
        for t in range(1, x.size(1)):
            best, at = (best.unsqueeze(2) + self.step).max(1)
            best = best + score[:, t]
            back.append(at)
        value, tag = best.max(1)
        path = [tag]
        for at in back[::-1]:
            path.append(at.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return value, torch.stack(path[::-1], 1)


class Attention2(nn.Module):
    """Seq2seq with additive attention, greedy over a fixed number of steps."""

    def __init__(self, words=20, width=12):
        super().__init__()
        self.embed, self.read, self.cell = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True), nn.GRUCell(2 * width, width)
        self.key, self.query, self.energy, self.out = (nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1), nn.Linear(width, words))

    def forward(self, text):
        seen, h = self.read(self.embed(text))
        h, word, said = h[0], text.new_zeros(text.size(0)), []
        for _ in range(5):
            look = self.energy(torch.tanh(self.key(seen) + self.query(h).unsqueeze(1))).softmax(1)
            h = self.cell(torch.cat([self.embed(word), (look * seen).sum(1)], -1), h)
            said.append(self.out(h))
            word = said[-1].argmax(-1)
        return torch.stack(said, 1)


class Rotary(nn.Module):
    """A decoder layer: RMSNorm, rotary positions, grouped heads, SwiGLU."""

    def __init__(self, width=32, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.embed = nn.Embedding(40, width)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.kv, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * groups * self.size, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = nn.Linear(width, 48), nn.Linear(width, 48), nn.Linear(48, width)

    def turn(self, x):
        angle = torch.arange(x.size(2)).unsqueeze(1) * 10000.0 ** -(torch.arange(0, self.size, 2) / self.size)
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2).type_as(x)

    def forward(self, tokens):
        x = self.embed(tokens)
        n, t, _ = x.shape
        y = self.norm1(x)
        q = self.q(y).view(n, t, self.heads, -1).transpose(1, 2)
        k, v = self.kv(y).view(n, t, 2, self.groups, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(n, t, -1))
        y = self.norm2(x)
        return F.linear(x + self.down(F.silu(self.gate(y)) * self.up(y)), self.embed.weight)


class Selective(nn.Module):
    """A state space model whose steps depend on the input (Mamba), token by token."""

    def __init__(self, width=12, state=4):
        super().__init__()
        self.into, self.conv = nn.Linear(width, 2 * width), nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.pick, self.dt = nn.Linear(width, 1 + 2 * state), nn.Linear(1, width)
        self.a = nn.Parameter(torch.arange(1, state + 1).float().log().repeat(width, 1))
        self.d, self.out, self.state = nn.Parameter(torch.randn(width)), nn.Linear(width, width), state

    def forward(self, x):
        x, gate = self.into(x).chunk(2, -1)
        x = F.silu(self.conv(x.mT)[..., : x.size(1)].mT)
        dt, b, c = self.pick(x).split([1, self.state, self.state], -1)
        dt = F.softplus(self.dt(dt))
        keep = torch.exp(dt.unsqueeze(-1) * -self.a.exp())
        new = dt.unsqueeze(-1) * b.unsqueeze(2) * x.unsqueeze(-1)
        h, out = torch.zeros_like(new[:, 0]), []
        for t in range(x.size(1)):
            h = keep[:, t] * h + new[:, t]
            out.append(torch.einsum("nds,ns->nd", h, c[:, t]))
        return self.out((torch.stack(out, 1) + self.d * x) * F.silu(gate))


class Rwkv(nn.Module):
    """Weighted keys and values that decay, mixed with the previous token (RWKV)."""

    def __init__(self, width=12):
        super().__init__()
        self.mix = nn.Parameter(torch.rand(3, width))
        self.k, self.v, self.r, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.decay, self.first = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))

    def forward(self, x):
        before = F.pad(x, (0, 0, 1, -1))
        k, v, r = (layer(x * m + before * (1 - m)) for layer, m in zip((self.k, self.v, self.r), self.mix))
        w = -self.decay.exp()
        top, under, most, out = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0]), torch.full_like(x[:, 0], -1e30), []
        for t in range(x.size(1)):
            now = torch.maximum(most, self.first + k[:, t])
            a, b = (most - now).exp(), (self.first + k[:, t] - now).exp()
            out.append((a * top + b * v[:, t]) / (a * under + b))
            now = torch.maximum(most + w, k[:, t])
            a, b = (most + w - now).exp(), (k[:, t] - now).exp()
            top, under, most = a * top + b * v[:, t], a * under + b, now
        return self.o(r.sigmoid() * torch.stack(out, 1))


class Retention(nn.Module):
    """Attention with a decay instead of softmax, in its recurrent form, which takes a state and returns it."""

    def __init__(self, width=12):
        super().__init__()
        self.qkv, self.norm = nn.Linear(width, 3 * width), nn.GroupNorm(3, width)

    def forward(self, x, state):
        q, k, v = self.qkv(x).chunk(3, -1)
        state = 0.9 * state + k.unsqueeze(-1) * v.unsqueeze(-2)
        return self.norm((q.unsqueeze(-2) @ state).squeeze(-2)), state


class Linear(nn.Module):
    """Causal linear attention with the kernel elu + 1, as sums over the previous tokens."""

    def __init__(self, width=12):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = torch.einsum("ntd,nte->ntde", k, v).cumsum(1)
        return torch.einsum("ntd,ntde->nte", q, sums) / (q * k.cumsum(1)).sum(-1, keepdim=True)


class Perceiver(nn.Module):
    """A few latents attend to a long input and to each other, and queries read them."""

    def __init__(self, width=16):
        super().__init__()
        self.latents, self.questions = nn.Parameter(torch.randn(6, width)), nn.Parameter(torch.randn(3, width))
        self.read, self.ask = nn.MultiheadAttention(width, 2, kdim=8, vdim=8, batch_first=True), nn.MultiheadAttention(width, 2, batch_first=True)
        self.think = nn.TransformerEncoderLayer(width, 2, 24, batch_first=True, norm_first=True)

    def forward(self, x):
        latents = self.latents.expand(x.size(0), -1, -1)
        latents = self.think(latents + self.read(latents, x, x)[0])
        return self.ask(self.questions.expand(x.size(0), -1, -1), latents, latents)


class Tcn(nn.Module):
    """Dilated causal convolutions with weight norm."""

    def __init__(self, width=10):
        super().__init__()
        self.layers = nn.ModuleList([nn.utils.parametrizations.weight_norm(nn.Conv1d(4 if i == 0 else width, width, 3, dilation=2**i)) for i in range(3)])
        self.skip = nn.Conv1d(4, width, 1)

    def forward(self, x):
        y = x
        for i, layer in enumerate(self.layers):
            y = F.relu(layer(F.pad(y, (2 * 2**i, 0))))
        return F.relu(y + self.skip(x))


class Experts(nn.Module):
    """Two of four experts for each token, gathered and added back."""

    def __init__(self, width=12, experts=4):
        super().__init__()
        self.route, self.experts = nn.Linear(width, experts), nn.ModuleList([nn.Sequential(nn.Linear(width, 20), nn.GELU(), nn.Linear(20, width)) for _ in range(experts)])

    def forward(self, x):
        flat = x.flatten(0, 1)
        weight, which = self.route(flat).softmax(-1).topk(2, -1)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, place = torch.where(which == i)
            out.index_add_(0, token, expert(flat[token]) * weight[token, place, None])
        return out.view_as(x)


class Beats(nn.Module):
    """Blocks of a forecaster, each of which subtracts the part that it explains (N-BEATS)."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU()) for _ in range(3)])
        self.back, self.ahead = nn.ModuleList([nn.Linear(32, 24) for _ in range(3)]), nn.ModuleList([nn.Linear(32, 6) for _ in range(3)])

    def forward(self, x):
        forecast = 0
        for block, back, ahead in zip(self.blocks, self.back, self.ahead):
            y = block(x)
            x, forecast = x - back(y), forecast + ahead(y)
        return forecast


class Autoformer(nn.Module):
    """Autocorrelation of a series, computed from its spectrum."""

    def __init__(self, width=6):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.q(x).mT, self.k(x).mT, self.v(x).mT
        alike = torch.fft.irfft(torch.fft.rfft(q) * torch.fft.rfft(k).conj(), n=x.size(1)).mean(1)
        weight, delay = alike.topk(3, -1)
        weight, at = weight.softmax(-1), torch.arange(x.size(1))
        out = torch.zeros_like(v)
        for i in range(3):
            index = (at + delay[:, i : i + 1]) % x.size(1)
            out = out + v.gather(2, index.unsqueeze(1).expand_as(v)) * weight[:, i, None, None]
        return out.mT


class Reversible(nn.Module):
    """Patches of a series, with an instance norm that is reversed at the end (PatchTST)."""

    def __init__(self, width=16):
        super().__init__()
        self.patch, self.place = nn.Linear(8, width), nn.Parameter(torch.randn(7, width))
        self.think, self.head = nn.TransformerEncoderLayer(width, 4, 32, batch_first=True), nn.Linear(7 * width, 4)

    def forward(self, x):
        mean, std = x.mean(1, keepdim=True), (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        y = ((x - mean) / std).mT.unfold(-1, 8, 4)
        n, c, p, _ = y.shape
        y = self.head(self.think((self.patch(y) + self.place).flatten(0, 1)).flatten(1)).view(n, c, -1).mT
        return y * std + mean


class Differentiable(nn.Module):
    """A memory that is addressed by similarity (neural Turing machine)."""

    def __init__(self, width=8, rows=6):
        super().__init__()
        self.cell, self.keys, self.rows, self.width = nn.LSTMCell(2 * width, width), nn.Linear(width, 4 * width + 2), rows, width

    def forward(self, x):
        n = x.size(0)
        memory, read = x.new_full((n, self.rows, self.width), 0.1), x.new_zeros(n, self.width)
        h = c = x.new_zeros(n, self.width)
        memory = memory + torch.linspace(-1, 1, self.rows).view(1, -1, 1)
        for t in range(x.size(1)):
            h, c = self.cell(torch.cat([x[:, t], read], -1), (h, c))
            r, w, erase, add, sharp = self.keys(h).split([self.width] * 4 + [2], -1)
            look = lambda key, b: (F.cosine_similarity(memory, key.unsqueeze(1), -1) * F.softplus(b)).softmax(-1)
            at = look(w, sharp[:, :1]).unsqueeze(-1)
            memory = memory * (1 - at * erase.sigmoid().unsqueeze(1)) + at * add.tanh().unsqueeze(1)
            read = (look(r, sharp[:, 1:]).unsqueeze(1) @ memory).squeeze(1)
        return memory, read


def numbers(*sizes):
    return lambda: (torch.randn(*sizes),)


def tokens(most, *sizes):
    return lambda: (torch.randint(1, most, sizes),)


MODELS = {
    "BiLSTM tagger": (Tagger, lambda: (torch.randint(1, 50, (3, 7)), torch.tensor([5, 7, 2]))), "Viterbi (CRF)": (Viterbi, numbers(2, 6, 8)),
    "seq2seq with attention": (Attention2, tokens(20, 2, 6)), "decoder with complex rotary places": (Rotary, tokens(40, 2, 9)),
    "Mamba scan": (Selective, numbers(2, 7, 12)), "RWKV": (Rwkv, numbers(2, 6, 12)), "retention": (Retention, lambda: (torch.randn(2, 12), torch.randn(2, 12, 12))),
    "linear attention": (Linear, numbers(2, 9, 12)), "Perceiver": (Perceiver, numbers(2, 30, 8)), "TCN": (Tcn, numbers(2, 4, 30)),
    "mixture of experts": (Experts, numbers(2, 9, 12)), "N-BEATS": (Beats, numbers(3, 24)), "Autoformer": (Autoformer, numbers(2, 16, 6)),
    "PatchTST": (Reversible, numbers(2, 32, 3)), "neural Turing machine": (Differentiable, numbers(2, 4, 8)),
}
