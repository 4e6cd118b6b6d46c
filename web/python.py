"""Makes the pages of the Python package: python3 web/python.py FOLDER. Fails if a public name has no docstring."""

import sys
from pathlib import Path

import pdoc
import rushlight

HERE = Path(__file__).resolve().parent


def undocumented(namespace):
    for member in namespace.members.values():
        if member.name.startswith("_") or not member.taken_from[0].startswith("rushlight"):
            continue  # members of torch.nn.Module belong to torch
        if not member.docstring.strip():
            yield member.fullname
        if isinstance(member, pdoc.doc.Class):
            yield from undocumented(member)


rushlight.Lowered.extra_repr.__doc__ = "@private"  # torch calls it; its own docstring would stand there
pdoc.render.configure(docformat="google", template_directory=HERE / "pdoc", show_source=False, search=False,
                      footer_text="Rushlight")
pdoc.pdoc("rushlight", "!rushlight[.]", output_directory=Path(sys.argv[1]))
missing = list(undocumented(pdoc.doc.Module.from_name("rushlight")))
for name in missing:
    print(f"docs: {name} has no docstring", file=sys.stderr)
sys.exit(bool(missing))
