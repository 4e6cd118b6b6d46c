"""Files for the application, which a .rush file holds besides its program."""

import collections.abc
import hashlib
import os

from .base.errors import RushlightError


def assets_of(given):
    """Returns the assets that export() is given as pairs of a name and bytes."""
    if not isinstance(given or {}, collections.abc.Mapping):
        raise ValueError(f"assets must be a dict of contents by name, got {type(given).__name__}")
    return [(_name(name), _contents(name, value)) for name, value in (given or {}).items()]


def _name(name):
    if not isinstance(name, str):
        raise ValueError(f"the name of an asset must be a str, got {name!r}")
    return name


def _contents(name, value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            return file.read()
    raise ValueError(f"the asset {name!r} must be bytes, a str with its text, or a pathlib.Path, got {type(value).__name__}")


def read_asset(source, record):
    """Returns the bytes of an asset, which have the digest of the file.

    Args:
        source: the path of the file, or its bytes
        record: the asset, as the description of the file has it

    Raises:
        RushlightError: the bytes have another digest ('bad-file')
    """
    start, size = record["offset"], record["bytes"]
    if isinstance(source, bytes):
        data = source[start:start + size]
    else:
        with open(source, "rb") as file:
            file.seek(start)
            data = file.read(size)
    digest = hashlib.sha256(data).hexdigest()
    if digest != record["sha256"]:
        raise RushlightError("bad-file", f"the asset {record['name']!r} must have the SHA-256 {record['sha256']}, got {digest}: the "
                                         "file is damaged, or has changed since it was loaded")
    return data
