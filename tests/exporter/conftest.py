import os
import sys

import pytest
import torch

sys.path[:0] = [os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "model.rush")
