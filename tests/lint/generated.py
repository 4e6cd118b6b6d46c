"""Checks that the content of a file never becomes code. No program of the product compiles text, starts a shell or writes HTML,
except for one place each."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
PYTHON = r"(?<![\w.])(exec|eval|compile|__import__)\(|\bos\.(system|popen)\(|shell=True|\bimportlib\.import_module\(|pickle\.loads?\(|weights_only=False"
SCRIPT = (r"\bnew Function\b|(?<![\w.])(eval|Function)\(|\b(innerHTML|outerHTML|srcdoc)\s*=|insertAdjacentHTML|document\.write\(|"
          r"\bset(Timeout|Interval)\(\s*[\"'`]|\b(exec|execSync)\(\s*[\"'`]|shell: *true|createContextualFragment|[\"'`]javascript:")
CPLUSPLUS = r"(?<![\w.:])(system|popen|PyRun_\w+)\(|std::system\(|\bpy::(exec|eval)\w*\("
# {folder: (suffixes of its files, forbidden patterns)}
RULES = {
    "exporter/python": ((".py",), PYTHON),
    "exporter/src": ((".cpp", ".h", ".py"), f"{CPLUSPLUS}|{PYTHON}"),
    "exporter/torch": ((".cpp", ".h"), CPLUSPLUS),
    "js/src": ((".js",), SCRIPT), "js/bin": ((".js", ".html"), SCRIPT),
    "wasm/src": ((".c", ".h"), CPLUSPLUS), "wasm/bridge": ((".c", ".h", ".mjs"), f"{CPLUSPLUS}|{SCRIPT}"),
    "demo": ((".js", ".mjs", ".html"), SCRIPT),
}
# This is the source of lowered modules, whose identifiers are checked there.
THE_ONE = {("exporter/python/rushlight/lowered_source.py", 'exec(compile(source, filename, "exec"), scope)')}


def faults():
    for folder, (ends, wrong) in RULES.items():
        listed = subprocess.run(["git", "ls-files", "-z", "--", folder], cwd=TOP, capture_output=True, text=True, check=True).stdout
        for name in listed.split("\0"):
            if not name.endswith(ends) or not (TOP / name).is_file():
                continue
            for number, line in enumerate((TOP / name).read_text().splitlines(), 1):
                code = re.sub(r"(?:^|\s)(//|#(?!include)|\*|/\*).*", "", line)
                if re.search(wrong, code) and (name, line.strip()) not in THE_ONE:
                    yield f"{name}:{number}: text may not become code: {line.strip()[:120]}"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "no text becomes code")
    sys.exit(bool(found))
