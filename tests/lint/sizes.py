"""Checks that sizes in C cannot wrap. Arguments of allocations and of checked arithmetic contain no bare product, sum or
shift of two numbers that are not constants. Such code must use rush_mul, rush_add and similar functions."""
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# Functions with sizes as arguments. The last argument of a call is the result.
CALLS = re.compile(r"(?<!rush_status )(?<!bool )\b(rush_(?:mul|add)(?:64)?|__builtin_(?:mul|add)_overflow|tmp_bytes|tmp_items|"
                   r"rush_(?:alloc|calloc|realloc|heap_alloc|memory_allowance)|rush_round_up|round_up|malloc|calloc|realloc)\(")
# A size that a later call of these functions in the same function takes.
NAMED = re.compile(r"\bsize_t (?:[^;{}()]*,\s*)?(\w+) =\s*([^;,{}]*(?:\([^;{}]*\))?[^;,{}]*)")
WORDS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# Compile-time constants: numbers, sizeof, names in capitals.
CONSTANT = r"(?:\(?\b(?:\d\w*|[A-Z][A-Z0-9_]*\b(?!\())\)?)"
SIZEOF = re.compile(r"\bsizeof\s*(?:\([^()]*\)|\*+\s*[\w.]+(?:->\w+|\[\w+\])*|[\w.]+)")
CASTS = re.compile(r"\(\s*(?:const\s+)?(?:struct\s+)?\w+\s*\*+\s*\)|\(\s*(?:u?int\d+_t|size_t|int|uintptr_t)\s*\)")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def arguments(text, at):
    """Returns the arguments of the call whose bracket opens before `at`."""
    depth, start, found = 0, at, []
    while True:
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            if depth == 0:
                return [*found, text[start:at]]
            depth -= 1
        elif text[at] == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
        at += 1


def is_bare(argument):
    """Returns whether an expression multiplies, adds or shifts numbers that are not all constants."""
    text = CASTS.sub("", SIZEOF.sub("1", argument)).replace("->", ".")
    text = re.sub(r"\[[^\]]*\]", "", text)  # an index is not a size
    before = None
    while text != before:
        before, text = text, re.sub(rf"{CONSTANT}\s*(?:\*|\+|<<)\s*{CONSTANT}", "1", text)
    return re.search(r"[\w)\]]\s*(?:\*|\+|<<)\s*[\w(*&]", text) is not None


def bare_sizes(text):
    """Yields (line, function, argument) for each bare size."""
    text = WORDS.sub(blank, text)
    for call in CALLS.finditer(text):
        for argument in arguments(text, call.end()):
            if is_bare(argument):
                yield text.count("\n", 0, call.start()) + 1, call.group(1), " ".join(argument.split())
    for size in NAMED.finditer(text):
        rest = text[size.end():text.find("\n}\n", size.end())]
        used = any(re.search(rf"\b{size.group(1)}\b", argument)
                   for call in CALLS.finditer(rest) for argument in arguments(rest, call.end()))
        if used and is_bare(size.group(2)):
            yield text.count("\n", 0, size.start()) + 1, size.group(1), " ".join(size.group(2).split())


def main():
    found = 0
    for folder in ("wasm/src", "wasm/bridge", "exporter/src", "exporter/torch"):
        for file in sorted((TOP / folder).rglob("*.[ch]*")):
            for line, function, argument in bare_sizes(file.read_text()):
                found += 1
                print(f"{file.relative_to(TOP)}:{line}: '{argument}' in {function}() may wrap: use rush_mul or rush_add")
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
