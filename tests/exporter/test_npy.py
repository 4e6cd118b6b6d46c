"""Arrays that the tool is given: what NumPy writes is read, whatever else gives a message."""

import subprocess

import numpy as np
import pytest
import torch

MATRIX = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def npy(head, data=bytes(24), version=1):
    text = head.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + data


@torch.jit.script
def as_expected(x):
    assert x.shape == [2, 3] and bool((x.flatten() == torch.arange(6)).all())
    return x + 1


def export(tmp_path, data):
    """Returns (exit code, messages) of an export whose example is the file."""
    torch.jit.save(as_expected, str(tmp_path / "m.pt"))
    (tmp_path / "x.npy").write_bytes(data)
    done = subprocess.run(["rushlight", "export", str(tmp_path / "m.pt"), "-o", str(tmp_path / "m.rush"), "--input", f"@{tmp_path}/x.npy"],
                          capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("order", "CF")
def test_both_orders_of_elements_are_read(tmp_path, order):
    with open(tmp_path / "x.npy", "wb") as f:
        np.save(f, np.array(np.arange(6).reshape(2, 3), order=order))
    assert export(tmp_path, (tmp_path / "x.npy").read_bytes()) == (0, "")


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers_are_read(tmp_path, dtype):
    with open(tmp_path / "x.npy", "wb") as f:
        np.save(f, np.arange(6, dtype=dtype).reshape(2, 3))
    assert export(tmp_path, (tmp_path / "x.npy").read_bytes()) == (0, "")


VALUES = np.arange(6, dtype="<f4").tobytes()
READ = {
    "format 2": npy(MATRIX, VALUES, version=2),
    "format 3, keys in another order, other quotes": npy('{"shape":(2,3),"descr":"<f4","fortran_order":False}', VALUES, version=3),
    "Python 2": npy(MATRIX.replace("2, 3", "2L, 3L"), VALUES),
}


@pytest.mark.parametrize("name", READ)
def test_other_writers_are_read(tmp_path, name):
    assert export(tmp_path, READ[name]) == (0, "")


REFUSED = {
    "short": (b"\x93NUMPY\x01", "it is not a .npy file"),
    "no array": (b"PK\x03\x04" + bytes(20), "it is not a .npy file"),
    "format 4": (npy(MATRIX, version=4), "its format version must be 1, 2 or 3, got 4"),
    "header cut short": (npy(MATRIX)[:40], "its header is truncated"),
    "length is a lie": (npy(MATRIX, version=2)[:8] + b"\xff" * 4 + bytes(100), "its header is truncated"),
    "elements cut short": (npy(MATRIX, bytes(23)), "it is truncated"),
    "product of sizes is 0 in 64 bits": (npy(MATRIX.replace("2, 3", "4294967296, 4294967296")), "its shape is too large"),
    "product of sizes is small in 64 bits": (npy(MATRIX.replace("2, 3", "4611686018427387905, 1")), "its shape is too large"),
    "size is none of 64 bits": (npy(MATRIX.replace("2, 3", "18446744073709551618, 3")), "its shape is too large"),
    "strides of nothing": (npy(MATRIX.replace("2, 3", "0, 4294967296, 4294967296")), "its shape is too large"),
    "size is negative": (npy(MATRIX.replace("2, 3", "-2, 3")), "its header cannot be parsed"),
    "65 dimensions": (npy(MATRIX.replace("2, 3", "1, " * 65)), "it must have at most 64 dimensions"),
    "fields": (npy(MATRIX.replace("'<f4'", "[('a', '<f4')]")), "its header cannot be parsed"),
    "unsigned": (npy(MATRIX.replace("<f4", "<u4")), 'the dtype "<u4" is not supported'),
    "no shape": (npy("{'descr': '<f4', 'fortran_order': False}"), "its header cannot be parsed"),
    "long string": (npy("{'descr': '" + "a" * 10**7 + "'}", version=2), "its header cannot be parsed"),
    "long string without end": (npy("{'descr': '" + "a" * 10**7, version=2), "its header cannot be parsed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_damaged_files_are_refused(tmp_path, name):
    data, message = REFUSED[name]
    assert export(tmp_path, data) == (1, f"rushlight: {tmp_path}/x.npy: {message}\n")
