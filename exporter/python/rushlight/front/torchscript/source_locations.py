"""The Python lines that nodes come from."""

import functools
import re

from ...base import core
from .call_stacks import call_stacks
from .loaded_sources import is_loaded, original_frames

_FILE = re.compile(r'^  File "(.*)", line (\d+)(?:, in (.*))?$')
_TRACED = re.compile(r"^(\S.*)\((\d{1,9})\): (.*)$")
_MODULE = re.compile(r"([^()]*)\([^()]*\)\.?")
_UNNAMED = ("", "SELF", "INSTANCE_NAME_UNKNOWN", "UNKNOWN_INSTANCE")
MARK = "# a number of rushlight"  # in the text of ranges that are numbers (debug_handles.py)


def without_absolute_paths(text):
    """Replaces the paths in PyTorch's text ("# /home/me/net.py:12:4") by stored ones."""
    return re.sub(r"(# )(/[^\n]*?)(:\d+:\d+)", lambda m: m[1] + core.stored_path(m[2]) + m[3], text)


def sources_of(nodes):
    """Returns the source of each node: (file, line, function, path of the module). It is the first frame outside torch.

    `nodes`: pairs of a node and its sourceRange()
    """
    modules = [node.getModuleHierarchy() for node, _ in nodes]
    frames = [_frames_of_range(text) for _, text in nodes]
    called = [i for i in range(len(nodes)) if modules[i] and not (_is_traced(frames[i]) and _users(frames[i]))]
    for i, whole in zip(called, _frames_with_calls([nodes[i][0] for i in called], [frames[i] for i in called])):
        frames[i] = whole
    return [_chosen(own, _module_path(module)) for own, module in zip(frames, modules)]


def _is_traced(frames):
    return bool(frames) and frames[0][2] != ""


def _frames_with_calls(nodes, frames):
    """Returns the frames of nodes with those of the calls around them."""
    out, originals = [], {}
    for node, own, (function, calls) in zip(nodes, frames, call_stacks(nodes)):
        if is_loaded(calls):
            key = tuple(calls)
            if key not in originals:
                originals[key] = original_frames(node, _traced_frames)[len(own):]
            calls = originals[key]
        out.append([*((file, line, name or function) for file, line, name in own), *calls])
    return out


def own_source(node, text):
    """Returns the same of one node without the calls around it. Freezing may have freed the functions of those."""
    return _chosen(_frames_of_range(text), _module_path(node.getModuleHierarchy()))


_stored_path = functools.lru_cache(4096)(core.stored_path)
_is_torchs_own = functools.lru_cache(4096)(core.is_torchs_own)


def _users(frames):
    return next((frame for frame in frames if not _is_torchs_own(frame[0])), None)


def _chosen(frames, module):
    if not frames:
        return "", 0, "", module
    file, line, function = _users(frames) or frames[0]
    return _stored_path(file), line, function or "forward", module


@functools.lru_cache(1024)
def _module_path(hierarchy):
    return ".".join(name for name in _MODULE.findall(hierarchy) if name not in _UNNAMED)


@functools.lru_cache(1024)
def _frames_of_range(text):
    """Returns the frames of a node without the calls around it, innermost first."""
    first, _, _ = text.partition("\n")
    file = _FILE.match(first)
    if file:
        return [(file[1], int(file[2]), "")]
    return _traced_frames(text.split("\n"))


def _traced_frames(lines):
    """Returns the frames of a traced node, whose source is a stack as text. Frames outside of the tracer's call are dropped."""
    out = []
    for line in lines:
        frame = _TRACED.match(line)
        if not frame or (out and _stored_path(frame[1]) == "torch/jit/_trace.py"):
            break
        out.append((frame[1], int(frame[2]), frame[3]))
    return out
