"""Fixtures of all tests of export_text()."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "m.rush")
