"""Networks for graphs, tables, functions, games and physics."""

import torch
import torch.nn.functional as F
from torch import nn


class Gcn(nn.Module):
    """Adds messages along edges, normalized by degree, at their target nodes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 12, bias=False), nn.Linear(12, 3, bias=False)

    def forward(self, x, edges):
        n = x.size(0)
        loops = torch.arange(n)
        source, target = torch.cat([edges[0], loops]), torch.cat([edges[1], loops])
        degree = torch.zeros(n).scatter_add_(0, target, torch.ones(target.size(0)))
        norm = degree.rsqrt()[source] * degree.rsqrt()[target]
        for layer in (self.first, self.second):
            x = layer(x)
            x = torch.zeros_like(x).index_add(0, target, x[source] * norm.unsqueeze(1))
            x = x.relu() if layer is self.first else x
        return x.log_softmax(-1)


class Gat(nn.Module):
    """Attention over the incoming edges of a node, by scatter_reduce."""

    def __init__(self, heads=2, width=6):
        super().__init__()
        self.heads, self.into = heads, nn.Linear(5, heads * width, bias=False)
        self.source, self.target = nn.Parameter(torch.randn(heads, width)), nn.Parameter(torch.randn(heads, width))

    def forward(self, x, edges):
        y = self.into(x).unflatten(1, (self.heads, -1))
        s, t = edges
        score = F.leaky_relu((y * self.source).sum(-1)[s] + (y * self.target).sum(-1)[t], 0.2)
        where = t.unsqueeze(1).expand_as(score)
        most = torch.full((x.size(0), self.heads), float("-inf")).scatter_reduce(0, where, score, "amax")
        score = (score - most[t]).exp()
        total = torch.zeros(x.size(0), self.heads).scatter_add(0, where, score)
        return torch.zeros_like(y).index_add(0, t, y[s] * (score / total[t].clamp(min=1e-16)).unsqueeze(-1)).flatten(1)


class Gin(nn.Module):
    """Labels molecules: sums over neighbours, and over all nodes of each graph in a batch."""

    def __init__(self):
        super().__init__()
        self.mlp, self.eps, self.head = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8)), nn.Parameter(torch.zeros(1)), nn.Linear(16, 2)

    def forward(self, x, edges, graph):
        h = self.mlp((1 + self.eps) * x + torch.zeros_like(x).index_add(0, edges[1], x[edges[0]]))
        sums = h.new_zeros(3, h.size(1)).index_add_(0, graph, h)
        means = h.new_zeros(3, h.size(1)).index_reduce_(0, graph, h, "mean", include_self=False)
        return self.head(torch.cat([sums, means], 1))


class SchNet(nn.Module):
    """Filters that are functions of distances between atoms."""

    def __init__(self, width=8):
        super().__init__()
        self.atom, self.filter, self.dense, self.out = nn.Embedding(10, width), nn.Sequential(nn.Linear(12, width), nn.Softplus()), nn.Linear(width, width), nn.Linear(width, 1)
        self.register_buffer("centres", torch.linspace(0, 5, 12))

    def forward(self, kinds, places):
        far = torch.cdist(places, places)
        near = (far < 5.0) & ~torch.eye(kinds.size(1), dtype=torch.bool)
        basis = torch.exp(-2.0 * (far.unsqueeze(-1) - self.centres).square())
        filters = self.filter(basis) * (0.5 * (torch.cos(far * torch.pi / 5) + 1) * near).unsqueeze(-1)
        x = self.atom(kinds)
        x = x + F.softplus(self.dense((filters * x.unsqueeze(1)).sum(2)))
        return self.out(x).sum((1, 2))


class Kan(nn.Module):
    """B-splines on edges in place of weights."""

    def __init__(self, grid=5, order=3):
        super().__init__()
        self.order = order
        self.base, self.spline = nn.Linear(3, 4), nn.Parameter(torch.randn(4, 3, grid + order))
        self.register_buffer("knots", torch.linspace(-1 - 2 * order / grid, 1 + 2 * order / grid, grid + 2 * order + 1))

    def forward(self, x):
        y, g = x.unsqueeze(-1), self.knots
        basis = ((y >= g[:-1]) & (y < g[1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            basis = (y - g[: -(k + 1)]) / (g[k:-1] - g[: -(k + 1)]) * basis[..., :-1] + (g[k + 1 :] - y) / (g[k + 1 :] - g[1:-k]) * basis[..., 1:]
        return self.base(F.silu(x)) + torch.einsum("nib,oib->no", basis, self.spline)


class Nerf(nn.Module):
    """Colours along rays: a positional encoding, an MLP, and volume rendering."""

    def __init__(self, width=24):
        super().__init__()
        self.first, self.second = nn.Linear(3 + 24, width), nn.Linear(width + 27, width)
        self.density, self.colour = nn.Linear(width, 1), nn.Sequential(nn.Linear(width + 3, 16), nn.ReLU(), nn.Linear(16, 3), nn.Sigmoid())

    def forward(self, start, way):
        t = torch.linspace(1, 3, 8)
        place = start[:, None] + way[:, None] * t[:, None]
        waves = place.unsqueeze(-1) * 2.0 ** torch.arange(4)
        x = torch.cat([place, waves.sin().flatten(-2), waves.cos().flatten(-2)], -1)
        h = F.relu(self.second(torch.cat([F.relu(self.first(x)), x], -1)))
        thick = F.softplus(self.density(h)).squeeze(-1)
        colour = self.colour(torch.cat([h, F.normalize(way, dim=-1)[:, None].expand_as(place)], -1))
        alpha = 1 - torch.exp(-thick * F.pad(t[1:] - t[:-1], (0, 1), value=1.0))
        seen = alpha * torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        return (seen.unsqueeze(-1) * colour).sum(1), (seen * t).sum(1)


class HashGrid(nn.Module):
    """Features of a hashed grid, interpolated (Instant NGP)."""

    def __init__(self, size=64, levels=3):
        super().__init__()
        self.tables, self.out = nn.Parameter(torch.randn(levels, size, 2)), nn.Linear(2 * levels, 3)
        self.register_buffer("corners", torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]))

    def forward(self, x):
        out = []
        for i, table in enumerate(self.tables):
            scaled = x * (4 * 2**i)
            low = scaled.floor()
            corner = low.long().unsqueeze(1) + self.corners
            index = (corner[..., 0] ^ (corner[..., 1] * 2654435761)) % table.size(0)
            part = (scaled - low).unsqueeze(1)
            weight = torch.where(self.corners.bool(), part, 1 - part).prod(-1)
            out.append((table[index] * weight.unsqueeze(-1)).sum(1))
        return self.out(torch.cat(out, -1))


class Hyper(nn.Module):
    """A network that writes another one's weights."""

    def __init__(self):
        super().__init__()
        self.write = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3 * 8 + 8 + 8 * 2 + 2))

    def forward(self, what, x):
        w1, b1, w2, b2 = self.write(what).split([24, 8, 16, 2], -1)
        h = torch.tanh(torch.baddbmm(b1.unsqueeze(1), x, w1.view(-1, 3, 8)))
        return torch.baddbmm(b2.unsqueeze(1), h, w2.view(-1, 8, 2))


class Film(nn.Module):
    """Sine activations that a condition scales and shifts (SIREN with FiLM)."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.out, self.tell = nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 1), nn.Linear(4, 32)

    def forward(self, x, what):
        scale, shift = self.tell(what).unsqueeze(1).chunk(2, -1)
        return self.out(torch.sin(self.second(torch.sin(30 * self.first(x))) * (1 + scale) + shift))


class Recommender(nn.Module):
    """Embedding bags of users, and products of features (DLRM with factorization)."""

    def __init__(self, width=6):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(30, width, mode=mode) for mode in ("sum", "mean", "max")])
        self.dense, self.top = nn.Sequential(nn.Linear(4, width), nn.ReLU()), nn.Sequential(nn.Linear(6 + width, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, numbers, items, offsets):
        x = self.dense(numbers)
        all_ = torch.stack([x] + [bag(items, offsets) for bag in self.bags], 1)
        rows, columns = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([x, torch.bmm(all_, all_.mT)[:, rows, columns]], 1))


class TabNet(nn.Module):
    """Selects columns of a table step by step with sparsemax."""

    def __init__(self, width=8):
        super().__init__()
        self.bn, self.feed, self.choose, self.out = nn.BatchNorm1d(width), nn.Linear(width, 12), nn.Linear(6, width), nn.Linear(6, 3)

    @staticmethod
    def sparsemax(x):
        z = x.sort(-1, descending=True)[0]
        k = torch.arange(1, x.size(-1) + 1)
        sums = z.cumsum(-1)
        size = (1 + k * z > sums).sum(-1, keepdim=True)
        return F.relu(x - (sums.gather(-1, size - 1) - 1) / size)

    def forward(self, x):
        x = self.bn(x)
        _, a = self.feed(x).split(6, -1)
        left, out = torch.ones_like(x), 0
        for _ in range(3):
            mask = self.sparsemax(self.choose(a) * left)
            left = left * (1.5 - mask)
            d, a = self.feed(x * mask).split(6, -1)
            out = out + d.relu()
        return self.out(out), left


class Trees(nn.Module):
    """Oblivious decision trees with soft splits."""

    def __init__(self, trees=4, depth=3):
        super().__init__()
        self.ask, self.at, self.leaves = nn.Linear(5, trees * depth, bias=False), nn.Parameter(torch.randn(trees, depth)), nn.Parameter(torch.randn(trees, 2**depth, 2))
        self.register_buffer("way", (torch.arange(2**depth).unsqueeze(1) >> torch.arange(depth) & 1).bool())

    def forward(self, x):
        right = (self.ask(x).unflatten(1, self.at.shape) - self.at).sigmoid()
        reach = torch.where(self.way, right.unsqueeze(2), 1 - right.unsqueeze(2)).prod(-1)
        return torch.einsum("ntl,tlo->no", reach, self.leaves)


class DeepSets(nn.Module):
    """Sets of several sizes, padded and masked, with attention from learned seeds to their members."""

    def __init__(self, width=12):
        super().__init__()
        self.each, self.seeds, self.pool = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width)), nn.Parameter(torch.randn(2, width)), nn.MultiheadAttention(width, 3, batch_first=True)

    def forward(self, x, sizes):
        there = torch.arange(x.size(1)) < sizes.unsqueeze(1)
        y = self.each(x)
        mean = (y * there.unsqueeze(-1)).sum(1) / sizes.unsqueeze(1)
        pooled, look = self.pool(self.seeds.expand(x.size(0), -1, -1), y, y, key_padding_mask=~there)
        return mean, y.masked_fill(~there.unsqueeze(-1), float("-inf")).amax(1), pooled, look


class Kalman(nn.Module):
    """A Kalman filter with learned noise, which solves a system instead of inverting a matrix."""

    def __init__(self):
        super().__init__()
        self.step, self.see = nn.Parameter(torch.eye(3) + 0.1 * torch.randn(3, 3)), nn.Parameter(torch.randn(2, 3))
        self.q, self.r = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(2))

    def forward(self, seen):
        mean, spread = seen.new_zeros(seen.size(0), 3, 1), torch.eye(3).expand(seen.size(0), 3, 3)
        out = []
        for t in range(seen.size(1)):
            mean, spread = self.step @ mean, self.step @ spread @ self.step.mT + torch.diag(self.q.exp())
            doubt = self.see @ spread @ self.see.mT + torch.diag_embed(self.r.exp())
            gain = torch.linalg.solve(doubt, self.see @ spread).mT
            mean = mean + gain @ (seen[:, t].unsqueeze(-1) - self.see @ mean)
            spread = (torch.eye(3) - gain @ self.see) @ spread
            out.append(mean.squeeze(-1))
        return torch.stack(out, 1), torch.logdet(spread)


class GaussianProcess(nn.Module):
    """Predicts mean and variance at new points with a Cholesky factorization."""

    def __init__(self):
        super().__init__()
        self.length, self.noise = nn.Parameter(torch.zeros(())), nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("x", torch.randn(12, 2))
        self.register_buffer("y", torch.randn(12, 1))

    def kernel(self, a, b):
        return torch.exp(-0.5 * torch.cdist(a, b).square() / self.length.exp())

    def forward(self, new):
        low = torch.linalg.cholesky(self.kernel(self.x, self.x) + self.noise.exp() * torch.eye(12))
        across = self.kernel(self.x, new)
        half = torch.linalg.solve_triangular(low, across, upper=False)
        return (across.mT @ torch.cholesky_solve(self.y, low)).squeeze(-1), 1 - half.square().sum(0)


class NeuralOde(nn.Module):
    """Runge-Kutta steps of a learned field."""

    def __init__(self):
        super().__init__()
        self.field = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, x):
        h = 0.25
        for _ in range(4):
            k1 = self.field(x)
            k2 = self.field(x + h / 2 * k1)
            k3 = self.field(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + self.field(x + h * k3))
        return x


class Fourier(nn.Module):
    """A neural operator that mixes low frequencies with complex weights (FNO, in two dimensions)."""

    def __init__(self, width=6, modes=4):
        super().__init__()
        self.modes, self.lift, self.beside, self.out = modes, nn.Conv2d(1, width, 1), nn.Conv2d(width, width, 1), nn.Conv2d(width, 1, 1)
        self.weight = nn.Parameter(torch.randn(2, width, width, modes, modes, dtype=torch.cfloat) * 0.2)

    def forward(self, x):
        x = self.lift(x)
        m, low = self.modes, torch.fft.rfft2(x)
        mixed = torch.zeros_like(low)
        mixed[:, :, :m, :m] = torch.einsum("nixy,ioxy->noxy", low[:, :, :m, :m], self.weight[0])
        mixed[:, :, -m:, :m] = torch.einsum("nixy,ioxy->noxy", low[:, :, -m:, :m], self.weight[1])
        return self.out(F.gelu(torch.fft.irfft2(mixed, s=x.shape[-2:]) + self.beside(x)))


class Equilibrium(nn.Module):
    """Iterates to a fixed point (deep equilibrium). It is scripted, because a trace keeps the example's number of iterations."""

    ways = ("scripted",)

    def __init__(self):
        super().__init__()
        self.w, self.u = nn.Linear(8, 8), nn.Linear(4, 8)
        with torch.no_grad():
            self.w.weight.mul_(0.5 / torch.linalg.matrix_norm(self.w.weight, 2))

    def forward(self, x):
        z = torch.zeros(x.size(0), 8)
        far, steps = 1.0, 0
        while far > 1e-4 and steps < 60:
            new = torch.tanh(self.w(z) + self.u(x))
            far = float((new - z).abs().max())
            z, steps = new, steps + 1
        return z


class Policy(nn.Module):
    """A player: a policy with masked illegal moves, a value (AlphaZero), and quantiles of the return."""

    def __init__(self, width=8):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.move, self.value, self.quantiles = nn.Conv2d(width, 2, 1), nn.Linear(width * 25, 1), nn.Linear(width * 25, 4)

    def forward(self, board, legal):
        x = self.trunk(board)
        score = self.move(x).flatten(1).masked_fill(~legal, -1e9)
        move = torch.distributions.Categorical(logits=score, validate_args=False)
        return move.probs, move.entropy(), self.value(x.flatten(1)).tanh(), self.quantiles(x.flatten(1)).sort(-1)[0]


def graph():
    return torch.randn(7, 5), torch.stack([torch.randint(0, 7, (20,)), torch.cat([torch.arange(7), torch.randint(0, 7, (13,))])])


def numbers(*sizes):
    return lambda: (torch.randn(*sizes),)


MODELS = {
    "GCN": (Gcn, graph), "GAT": (Gat, graph), "GIN": (Gin, lambda: (*graph(), torch.tensor([0, 0, 1, 1, 1, 2, 2]))),
    "SchNet": (SchNet, lambda: (torch.randint(0, 10, (2, 6)), torch.randn(2, 6, 3))), "KAN": (Kan, lambda: (torch.rand(5, 3) * 2 - 1,)),
    "NeRF": (Nerf, lambda: (torch.randn(4, 3), torch.randn(4, 3))), "hashed grid": (HashGrid, lambda: (torch.rand(9, 2),)),
    "hypernetwork": (Hyper, lambda: (torch.randn(2, 4), torch.randn(2, 5, 3))), "SIREN with FiLM": (Film, lambda: (torch.rand(2, 9, 2), torch.randn(2, 4))),
    "DLRM": (Recommender, lambda: (torch.randn(3, 4), torch.randint(0, 30, (8,)), torch.tensor([0, 3, 4]))), "TabNet": (TabNet, numbers(6, 8)),
    "soft trees": (Trees, numbers(4, 5)), "sets with masks": (DeepSets, lambda: (torch.randn(2, 5, 3), torch.tensor([3, 5]))), "Kalman filter": (Kalman, numbers(2, 4, 2)),
    "Gaussian process": (GaussianProcess, numbers(5, 2)), "neural ODE": (NeuralOde, numbers(4, 3)), "Fourier neural operator": (Fourier, numbers(2, 1, 12, 10)),
    "deep equilibrium": (Equilibrium, numbers(3, 4)), "policy and value": (Policy, lambda: (torch.randn(2, 3, 5, 5), torch.rand(2, 50) > 0.3)),
}
