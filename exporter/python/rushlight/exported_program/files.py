"""Recognizes the files of torch.export.save."""

import zipfile


def is_program_file(path):
    """Returns whether the file is one that torch.export.save wrote (and not TorchScript)."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return any(n.endswith(("serialized_exported_program.json", "models/model.json")) for n in names)
