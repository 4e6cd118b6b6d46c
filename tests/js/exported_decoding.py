"""Makes the files of decoding.test.js, here and in tests/browser: exported_decoding.py FOLDER writes models that keep what came before
in three ways, and prints what steps.js is told of each, with PyTorch's answers, as JSON."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

WIDTH, LENGTH = 8, 16
FOLDER = pathlib.Path(sys.argv[1])


class Cache:
    """As DynamicCache of transformers is: the keys and values of each layer, which grow."""

    def __init__(self, keys=(), values=()):
        self.keys, self.values = list(keys), list(values)

    def update(self, k, v, layer):
        self.keys[layer] = torch.cat([self.keys[layer], k], 1)
        self.values[layer] = torch.cat([self.values[layer], v], 1)
        return self.keys[layer], self.values[layer]


pytree.register_pytree_node(Cache, lambda c: ([c.keys, c.values], ["keys", "values"]), lambda items, _: Cache(*items),
                            flatten_with_keys_fn=lambda c: ([(pytree.MappingKey("keys"), c.keys), (pytree.MappingKey("values"), c.values)],
                                                            ["keys", "values"]), serialized_type_name="exported_decoding.Cache")
torch.fx._pytree.register_pytree_flatten_spec(Cache, lambda cache, _: [*cache.keys, *cache.values])


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(2))


class Dynamic(Layers):
    """The cache goes in and comes out."""

    def forward(self, x, cache):
        for i, layer in enumerate(self.layers):
            q, k, v = layer(x).chunk(3, -1)
            k, v = cache.update(k, v, i)
            x = x + nn.functional.scaled_dot_product_attention(q, k, v)
        return {"y": x, "cache": cache}


class Pair(Layers):
    """So does a tuple of two caches, of which one is read alone (as encoder and decoder have)."""

    def forward(self, x, caches):
        own, given = caches
        for i, layer in enumerate(self.layers):
            q, k, v = layer(x).chunk(3, -1)
            k, v = own.update(k, v, i)
            x = x + nn.functional.scaled_dot_product_attention(q, k, v) + nn.functional.scaled_dot_product_attention(q, given.keys[i], given.values[i])
        return x, (own, given)


class Static(Layers):
    """The cache is the model's, as StaticCache of transformers is: written where a position says."""

    def __init__(self):
        super().__init__()
        for i in range(2):
            self.register_buffer(f"keys_{i}", torch.zeros(1, LENGTH, WIDTH))
            self.register_buffer(f"values_{i}", torch.zeros(1, LENGTH, WIDTH))

    def forward(self, x, position):
        seen = torch.arange(LENGTH) <= position.unsqueeze(1)
        for i, layer in enumerate(self.layers):
            q, k, v = layer(x).chunk(3, -1)
            keys, values = getattr(self, f"keys_{i}"), getattr(self, f"values_{i}")
            keys.index_copy_(1, position, k)
            values.index_copy_(1, position, v)
            x = x + nn.functional.scaled_dot_product_attention(q, keys, values, seen)
        return x


def cache_of(length):
    return Cache(*[[torch.randn(1, length, WIDTH) for _ in range(2)] for _ in range(2)])


def plain(tensor):
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "data": tensor.flatten().tolist()}


def tree(cache):
    """A cache as JavaScript has it: lists in a list."""
    return [[plain(t) for t in part] for part in (cache.keys, cache.values)]


torch.manual_seed(0)
n, m = Dim("n", min=1, max=64), Dim("m", min=1, max=64)
grows, stays = [[{1: n}, {1: n}], [{1: n}, {1: n}]], [[{1: m}, {1: m}], [{1: m}, {1: m}]]
xs = [torch.randn(1, 1, WIDTH) for _ in range(5)]
out = {}


def write_case(name, start, steps, goes_round, want, last=None):
    out[name] = {"start": start, "steps": steps, "goesRound": goes_round, "answer": "y", "want": [plain(y) for y in want], "last": last}


model, cache = Dynamic().eval(), cache_of(3)
program = torch.export.export(model, (xs[0], cache_of(4)), dynamic_shapes={"x": None, "cache": grows}, strict=False)
rushlight.export(program, None, FOLDER / "dynamic.rush")
start = {"cache": tree(cache)}
with torch.no_grad():
    ys = [model(x, cache)["y"] for x in xs]
write_case("dynamic", start, [{"x": plain(x)} for x in xs], "cache", ys, tree(cache))

model, own, given = Pair().eval(), cache_of(1), cache_of(6)
program = torch.export.export(model, (xs[0], (cache_of(4), cache_of(5))), dynamic_shapes={"x": None, "caches": (grows, stays)}, strict=False)
rushlight.export(program, None, FOLDER / "pair.rush", output_names=["y", "caches"])
start = {"caches": [tree(own), tree(given)]}
with torch.no_grad():
    ys = [model(x, (own, given))[0] for x in xs]
write_case("pair", start, [{"x": plain(x)} for x in xs], "caches", ys, [tree(own), tree(given)])

model = Static().eval()
program = torch.export.export(model, (torch.randn(1, 3, WIDTH), torch.arange(3)), dynamic_shapes={"x": {1: (t := Dim("t", min=1, max=LENGTH))}, "position": {0: t}}, strict=False)
rushlight.export(program, None, FOLDER / "static.rush", output_names=["y"])
with torch.no_grad():
    ys = [model(x, torch.tensor([i])) for i, x in enumerate(xs)]
write_case("static", {}, [{"x": plain(x), "position": plain(torch.tensor([i]))} for i, x in enumerate(xs)], "", ys)
print(json.dumps(out))
