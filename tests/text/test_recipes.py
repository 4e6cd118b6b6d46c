"""The recipes of web/guide/recipes.md run as they stand there, with small models and random weights.

The stage recipes runs all of them, with further libraries. Other stages run a sample.
"""

import os
import pathlib
import re

import pytest
import recipe_models

import rushlight

GUIDE = pathlib.Path(__file__).parents[2] / "web/guide/recipes.md"
RECIPES = dict(re.findall(r"^```python:no-line-numbers \[(.*?)\]\n(.*?)^```", GUIDE.read_text(), re.M | re.S))
SAMPLE = ("GGUF", "CLIP")
MAX_LINES = 15
MAX_BYTES = {"torchao": 250_000}  # 655,360 in float32


@pytest.mark.parametrize("title", RECIPES if "RUSH_RECIPES" in os.environ else SAMPLE)
def test_recipe(title, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    recipe_models.prepare(title, monkeypatch)
    code = RECIPES[title]
    assert len(code.splitlines()) <= MAX_LINES
    exec(compile(code, title, "exec"), {"__name__": "recipe"})  # export() compares the file with PyTorch
    (path,) = tmp_path.glob("*.rush")
    assert rushlight.load(path).methods()
    assert path.stat().st_size < MAX_BYTES.get(title, float("inf"))
