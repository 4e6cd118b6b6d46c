"""Makes the file of random.test.js: exported_random.py FILE writes it and prints PyTorch's numbers, as JSON, by seed."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402


def numbers(n: int):
    return torch.rand(n), torch.randn(n), torch.randint(-9, 9, [n]), torch.randperm(n)


scripted = torch.jit.script(numbers)
rushlight.export(scripted, (5,), sys.argv[1], output_names=["rand", "randn", "randint", "randperm"])
answers = {}
for seed in (0, 5, -3, 2**63 + 9):
    torch.manual_seed(seed)
    answers[seed] = [[x.tolist() for x in scripted(n)] for n in (3, 20)]
print(json.dumps(answers))
