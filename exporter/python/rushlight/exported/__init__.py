"""torch.export's programs as the exporter's own graph, without torch.jit.

Each node of an ExportedProgram names its operator as an OpOverload, whose schema is ATen's. description.py makes the
description of a program that the exporter takes: its graph goes node by node (convert.py, control.py, arithmetic.py)
into a GraphBuilder of _C, with the containers of its inputs and results (trees.py) and what it says of their sizes
(guards.py). reference.py runs a program in PyTorch, trace.py with all that its nodes give.
"""

import zipfile

from .description import describe_program
from .reference import example_of, inputs_of, reference_of
from .trace import answer, trace

__all__ = ["answer", "describe_program", "example_of", "inputs_of", "is_program_file", "reference_of", "trace"]


def is_program_file(path):
    """Whether the file is one that torch.export.save wrote (and not TorchScript)."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return any(n.endswith(("serialized_exported_program.json", "models/model.json")) for n in names)
