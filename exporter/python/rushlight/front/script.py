"""The front for TorchScript: scripted and traced modules and functions, and their files."""

import torch

from .captured import Captured


def is_script(model):
    """Returns whether the model is TorchScript or the path of a file. A file that holds no ExportedProgram holds TorchScript."""
    return isinstance(model, (str, torch.jit.ScriptModule, torch.jit.ScriptFunction))


def capture_script(model):
    """TorchScript is exported as it is."""
    return Captured(model)
