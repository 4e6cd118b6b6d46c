"""A file of every earlier format version still loads and gives the same answers (format.h, COMPATIBILITY)."""

import hashlib
import os

import pytest
import reader
import rushlight
import torch
import version_1

VERSION_1 = os.path.join(os.path.dirname(__file__), "stored", "version-1.rush")


def test_the_stored_file_is_as_it_was():
    with open(VERSION_1, "rb") as f:
        assert hashlib.sha256(f.read()).hexdigest() == "1ac539e7181e9abcfc1cc2d2a1062941ae2e68adbe35bb99fc51878dcfe43cbc"


def test_version_1_is_read_by_the_format_alone():
    m = reader.read(VERSION_1)
    assert list(m.methods) == ["forward", "sequence", "total"]
    sections = [*range(0x01, 0x11), *range(0x100, 0x109)]  # all versions so far
    assert all(m.tables[reader.RECORDS[id][0]] for id in sections)
    assert [method for method, *_ in m.tests] == ["forward", "forward", "sequence"]
    assert m.meta["torch"] == "2.6.0"
    assert m.assets == {"labels.txt": "cat\ndog\né\n".encode(), "table.bin": bytes(range(256))}


def test_version_1_loads_and_verifies():
    session = rushlight.load(VERSION_1)
    assert session.methods() == ["forward", "sequence", "total"]
    apart = session.verify()
    assert len(apart) == 3 and all(compared > 0 for _, _, compared in apart)
    assert "conv.weight" in rushlight.describe(VERSION_1)
    assert session.asset("labels.txt").decode() == "cat\ndog\né\n"


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_version_1_answers_as_pytorch_does(batch):
    torch.manual_seed(0)
    model = version_1.Version1().eval()
    scripted = torch.jit.script(model)
    session = rushlight.load(VERSION_1)
    x, ids = torch.randn(batch, 3, 8, 8), torch.randint(5, (batch, 3))
    for rounds, scale in [(2, None), (4, 0.5), (0, 1.0)]:
        want, parts, sizes = scripted(x, ids, rounds, scale)
        got, got_parts, got_sizes = session(x, ids, rounds, scale)
        torch.testing.assert_close(got.scores, want.scores)
        assert (got.best, got.label, got_sizes) == (want.best, want.label, sizes)
        assert list(got_parts) == list(parts)
        for name, value in parts.items():
            torch.testing.assert_close(got_parts[name], value)
    torch.testing.assert_close(session.call("total"), scripted.total())
