"""Lists every message of the product with its place: tests/lint/messages.py [WORDS..] prints those that match all words.

A message is the text of a call that reports an error or a warning (CALLS below), in C, C++, Python and JavaScript. A value that is
inserted is shown as {}. With --check it prints the messages that break a rule of CONTRIBUTING.md that a pattern can find, and fails.
"""

import pathlib
import re
import signal
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
C_CALLS = r"RUSH_CHECK\w*|BAD\w*|rush_fail\w*"
CPP_CALLS = C_CALLS + (r"|throw [\w:]+|refuse\w*|not_understood|bad|fail|failure|warn|TORCH_CHECK\w*|warnings(?:\.|->)push_back")
PYTHON_CALLS = r"raise [\w.]+|warnings\.warn|unsupported|refused?\w*|no_type|not_understood|add_note|fail\w*"
JS_CALLS = r"new \w*Error|badArgument|\w+Error|fail\w*|reject\w*|refuse\w*|unreadable|invalid\w*|disposed|says"
TREES = [
    ("wasm/src", ".c", C_CALLS), ("wasm/src", ".h", C_CALLS), ("wasm/bridge", ".c", C_CALLS), ("exporter/src", ".cpp", CPP_CALLS),
    ("exporter/src", ".h", CPP_CALLS), ("exporter/torch", ".cpp", CPP_CALLS), ("exporter/python", ".py", PYTHON_CALLS),
    ("js/src", ".js", JS_CALLS), ("js/bin", ".js", JS_CALLS),
]
# The rules of CONTRIBUTING that a pattern can check, with the advice for each.
RULES = [
    (r"\bpromis(e|es|ed)\b(?! Integration)", "say constraint"),
    (r"quantis", "PyTorch spells it quantize"),
    (r"\brounds?\b(?! of)", "say iteration"),
    (r"\bnothing that\b", "say what is not supported"),
    (r"^[\w'\"{}.-]+(?: [\w'\"{}.-]+)?(?: [\w'\"{}.-]+)? (is|are) (\d|at least|at most|one of|between)(?! sized)", "a refusal says: must be"),
    (r"\bcame\b", "say: got"),
]
STRING = re.compile(r'''(?<![\w])[rfbu]{0,2}"""(?:.|\n)*?"""|(?<![\w'])[rfbu]{0,2}"(?:\\.|[^"\\\n])*"|(?<![\w"])[rfbu]{0,2}'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`''')
COMMENT = {".py": r"#[^\n]*"}


def blank(match):
    """Replaces everything in the match except newlines, so that offsets and lines stay the same."""
    return re.sub(r"[^\n]", " ", match[0])


def without_comments(text, ending):
    comment = COMMENT.get(ending, r"//[^\n]*|/\*(?:.|\n)*?\*/")
    return re.sub(f"({STRING.pattern})|({comment})", lambda m: m[0] if m[1] else blank(m), text)


def closing(code, start):
    """Returns the offset after the bracket that closes the one at `start`. Brackets in strings do not count."""
    depth = 0
    for m in re.finditer(f"{STRING.pattern}|[()]", code[start:]):
        depth += {"(": 1, ")": -1}.get(m[0], 0)
        if depth == 0:
            return start + m.end()
    return len(code)


def text_of(arguments):
    """Joins the strings of a call's arguments, with {} for each value between them."""
    out = []
    for m in STRING.finditer(arguments):
        if re.fullmatch(r"'[a-z-]+'", m[0]) and not out:
            continue  # the code of a RushlightError
        literal = re.sub(r'^[rfbu]*("""|"|\'|`)|("""|"|\'|`)$', "", m[0])
        literal = re.sub(r"\$\{[^}]*\}|\{[^}]*\}|%[-+#0-9.*]*(?:ll|z|h|j)*[a-zA-Z]", "{}", literal).replace("\\n", " ").replace('\\"', '"')
        between = arguments[out[-1][1]:m.start()] if out else ""
        out.append((("{}" if re.search(r"\w", re.sub(r"\bPRI\w+", "", between)) else "") + literal, m.end()))
    return " ".join("".join(piece for piece, _ in out).split())


def messages_of(path, calls):
    code = without_comments(path.read_text(), path.suffix)
    for m in re.finditer(rf"(?<!\w){calls}\s*\(", code):
        text = text_of(code[m.end() - 1:closing(code, m.end() - 1)])
        if re.search(r"[a-z]{2,} [a-z]", text):
            yield code.count("\n", 0, m.start()) + 1, text


def messages():
    seen = set()
    for tree, ending, calls in TREES:
        for path in sorted((TOP / tree).rglob(f"*{ending}")):
            for line, text in messages_of(path, f"(?:{calls})"):
                if (path, text) not in seen:
                    seen.add((path, text))
                    yield path.relative_to(TOP).as_posix(), line, text


def broken():
    for path, line, text in messages():
        for pattern, instead in RULES:
            if re.search(pattern, text):
                yield f"{path}:{line}: {instead}: {text}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        found = list(broken())
        print("\n".join(found) or "no message breaks a rule that a pattern can see")
        sys.exit(bool(found))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for `./dev messages | head`
    for path, line, text in messages():
        if all(word.lower() in f"{path} {text}".lower() for word in sys.argv[1:]):
            print(f"{path}:{line}: {text}")
