"""Installs the npm package beside the wheel, and runs the examples of the README.

./dev wheels copies this file, the README and both packages into the home of a bare root, which has PyTorch, Node and npm, and runs it
there.
"""

import pathlib
import re
import subprocess
import sys
import time


def block(readme, language):
    """Returns the first example of the README in a language."""
    return re.search(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[1]


def done(*command):
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, (command, finished.stdout, finished.stderr)
    return finished.stdout


begin = time.monotonic()
readme = pathlib.Path("README.md").read_text()
package, = pathlib.Path().glob("rushlight-*.tgz")
done("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{package}")
pathlib.Path("export.py").write_text(block(readme, "python"))
print(done(sys.executable, "export.py"))
pathlib.Path("run.mjs").write_text(block(readme, "js"))
said = done("node", "run.mjs")
assert said.startswith("[ 2, 3 ] Float32Array(6) ["), said
verified = done("npx", "--no-install", "rushlight", "verify", "model.rush")
assert ": as expected, " in verified, verified
print(f"README's install and both examples took {time.monotonic() - begin:.1f} s")
