"""The command `rushlight`, also `python -m rushlight`."""

import importlib.util
import signal
import sys

from .base import native


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python would handle Ctrl-C only after the tool has ended
    if sys.argv[1:2] in (["run"], ["bench"]):
        from .run_commands import run_command

        sys.exit(run_command(sys.argv[1:]))
    answers = {}  # to which a model adds its own when it is loaded
    answers.update({"tool.program": lambda request, values: _of_torch().program(request, values, answers),
                    "tool.inputs": lambda request, values: _of_torch().inputs(request, values, answers)})
    with native.with_answers(answers):
        status = native.call("tool", arguments=["rushlight", *sys.argv[1:]], has_torch=importlib.util.find_spec("torch") is not None)
    sys.exit(status)


def _of_torch():
    from .front import tool_models

    return tool_models
