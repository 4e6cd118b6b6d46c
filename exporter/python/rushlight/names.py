"""Names of a file, as they may be shown."""


def shown(name):
    """The name on one line, with what a terminal or an editor obeys as an escape."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
