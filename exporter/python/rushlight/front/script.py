"""The front for TorchScript: scripted and traced modules and functions, and their files."""

import torch

from .captured import Captured


def is_script(model):
    """Whether it is TorchScript, or a path, which is that of a TorchScript file if it is not that of an ExportedProgram."""
    return isinstance(model, (str, torch.jit.ScriptModule, torch.jit.ScriptFunction))


def capture_script(model):
    """TorchScript is exported as it is."""
    return Captured(model)
