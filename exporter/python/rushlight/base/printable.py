"""Text from files, made safe for a terminal or an editor."""


def printable(text):
    """Returns the text on one line. Escape sequences replace characters that a terminal or an editor would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
