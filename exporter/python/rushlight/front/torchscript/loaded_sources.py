"""The Python lines of calls in a file of torch.jit.save.

A frame of such code names a line of the file's own code. Only a traceback from PyTorch also has the original line.
"""

import re

import torch

from . import graphs

_FILE = re.compile(r'^  File "(.*)", line (\d+)(?:, in (.*))?$')
_TRACED = re.compile(r"^\S.*\(\d{1,9}\): ")
_CODE = "Traceback of TorchScript, original code (most recent call last):\n"
_NAME = "rushlight_traceback"


def is_loaded(frames):
    return any(file.startswith("code/__torch__") for file, *_ in frames)


def original_frames(node, traced_frames):
    """Returns the original frames of a node and of the calls around it, innermost first.

    Args:
        traced_frames (function): gives the frames in the lines of a traced node's stack
    """
    return _frames_of(_traceback(node), traced_frames)


def _frames_of(text, traced_frames):
    text = text.partition(_CODE)[2] or text.partition("(most recent call last):\n")[2]
    blocks, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        file = _FILE.match(lines[at])
        traced = _traced_block(lines, at)
        if file:
            blocks.append([(file[1], int(file[2]), "" if file[3] == _NAME else file[3] or "")])
        elif traced:
            blocks.append(traced_frames(traced))
        at += len(traced) or 1
    return [frame for block in reversed(blocks) for frame in block]


def _traced_block(lines, at):
    """Returns the lines of the stack of a traced node from here on. Stacks that follow each other end with the same line."""
    end = at
    while end < len(lines) and _TRACED.match(lines[end]):
        end += 1
    last = lines.index(lines[end - 1], at) if end > at else at - 1
    return lines[at:last + 1]


def _traceback(node):
    """PyTorch's traceback: a graph raises an exception in the place of the node."""
    graph = torch._C.Graph()
    text, none = graph.insertConstant(""), graph.insertConstant(None)
    graphs.add(graph, "prim::RaiseException", [text, none]).copyMetadata(node)
    graph.registerOutput(none)
    try:
        torch._C._create_function_from_graph(_NAME, graph)()
    except torch.jit.Error as error:
        return str(error)
    raise AssertionError("the graph must raise an error")
