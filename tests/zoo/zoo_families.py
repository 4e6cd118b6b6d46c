"""Small networks of families that other zoos do not have, defined in families/."""

from entry import Entry
from families import audio, generative, sequence, structure, vision

FOLDERS = {"vision": vision, "sequence": sequence, "audio": audio, "generative": generative, "structure": structure}
WHERE = {name: kind for kind, module in FOLDERS.items() for name in module.MODELS}


def names():
    return list(WHERE)


def kind(name):
    """Returns a heading of the page."""
    return WHERE[name]


def make(name):
    model, inputs = FOLDERS[WHERE[name]].MODELS[name]
    return Entry(model(), inputs(), ways=getattr(model, "ways", Entry.ways))
