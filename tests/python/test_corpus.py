"""Files that broke a rule once (tests/fuzz/corpus/files), and damaged ones made of them: in Python and on the command line each
gives a model or a message, and nothing ends a process."""

import pathlib
import subprocess
import sys

import pytest

FILES = sorted((pathlib.Path(__file__).parents[1] / "fuzz" / "corpus" / "files").iterdir())
MUTANTS = 150  # of each file
# Each file runs in its own process, so that the exit code and the name of the file show a crash.
SESSION = """
import pathlib, random, sys
import rushlight, torch

only = rushlight.RushlightError
counts = {"models": 0, "refused": 0}


def attempt(job, *args):
    try:
        return job(*args)
    except only as e:
        assert str(e).strip() and e.code, repr(e)
        return None


def use(data, path):
    session = attempt(lambda: rushlight.load(data, max_bytes=1 << 26, max_steps=2000))
    counts["models" if session else "refused"] += 1
    path.write_bytes(data)
    for json in (False, True):
        attempt(rushlight.describe, path, json)
    if session:
        repr(session)
        attempt(session.verify)
        for method in session.methods():
            inputs = [torch.ones(1, 1)] * len(session.inputs(method))
            for _ in range(2):  # what a failure leaves behind does not hurt the next run
                attempt(session.call, method, *inputs)
        attempt(session.reset)


def damaged(data, numbers):
    data = bytearray(data)
    for _ in range(numbers.randrange(1, 4)):
        at, width = numbers.randrange(64, len(data)), numbers.choice((1, 4, 8))
        value = numbers.choice((0, 1, numbers.getrandbits(8 * width), (1 << 8 * width) - 1, numbers.randrange(64)))
        if numbers.randrange(2):
            at -= at % width  # a whole field
        data[at:at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")[:len(data) - at]
    return bytes(data)


out, mutants, *files = sys.argv[1:]
for file in files:
    data, numbers = pathlib.Path(file).read_bytes(), random.Random(file.rpartition("/")[2])
    print(file, flush=True)
    use(data, pathlib.Path(out))
    for _ in range(int(mutants)):  # the one that ends the process is what `out` holds
        use(damaged(data, numbers), pathlib.Path(out))
print(counts["models"], counts["refused"])
"""


def test_each_file_gives_a_model_or_a_message_in_python(tmp_path):
    done = subprocess.run([sys.executable, "-c", SESSION, str(tmp_path / "last.rush"), str(MUTANTS), *map(str, FILES)], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nthe last file is {tmp_path}/last.rush"
    models, refused = map(int, done.stdout.splitlines()[-1].split())
    assert models + refused == len(FILES) * (MUTANTS + 1)
    assert min(models, refused) > 100, "nothing was tried"


@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--json"], ["inspect", "--weights"]], ids=" ".join)
def test_each_file_gives_a_text_or_a_message_on_the_command_line(tmp_path, command):
    if command[-1] == "--weights":
        command = [*command, str(tmp_path / "out.safetensors")]
    for file in FILES:
        done = subprocess.run(["rushlight", *command, str(file)], capture_output=True, text=True)
        assert done.returncode in (0, 1), (file, done)
        assert done.returncode == 0 or done.stderr.startswith("rushlight: "), (file, done)
