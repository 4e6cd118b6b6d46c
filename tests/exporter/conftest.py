import os
import sys

import pytest
import torch

sys.path[:0] = [os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))]
torch._C._jit_set_texpr_fuser_enabled(False)
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "model.rush")
