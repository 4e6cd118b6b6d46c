"""The Python lines of the nodes of an FX graph."""

import re

from ..base import core


def user_frame(stack_trace):
    """Returns (file, line, function) of the innermost frame outside torch; None if there is none."""
    frames = re.findall(r'File "([^"\n]+)", line (\d+), in (\S+)', stack_trace or "")
    for file, line, function in reversed(frames):
        if not core.is_torchs_own(file):
            return core.stored_path(file), int(line), function
    return None


def source_of(node):
    """Returns (file, line, function, path of the module) of a node; None if they are unknown."""
    frame = user_frame(node.meta.get("stack_trace") or node.stack_trace)
    if frame is None:
        return None
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    return *frame, module_path(modules[-1][0]) if modules else ""


def module_path(name):
    """Returns the path of a module from FX's expression: 'layers.0' from "L['self'].layers['0']"."""
    path = re.sub(r"^L\['\w+'\]\.?", "", name)
    return re.sub(r"\['?(\w+)'?\]|\._modules", lambda m: "." + m[1] if m[1] else "", path).replace("..", ".").lstrip(".")
