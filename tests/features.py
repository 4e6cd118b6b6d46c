"""The table of FEATURES.md: which feature, what PyTorch does, what Rushlight does. Made from the Python tests.

    @pytest.mark.feature("TorchScript", "if, elif, else on a tensor's value")
    @pytest.mark.feature("TorchScript", "recursion", pytorch="refuses", rushlight="refuses")

says that a test shows a feature: a topic, a name of few words, and, where it is not "runs", that PyTorch or
Rushlight "refuses". Several tests with the same row share it. tests/conftest.py looks on while they run: the
largest difference that rushlight.export or torch.testing.assert_close met, and the messages that pytest.raises
caught, go to build/features.json, where the newest run of each test stays.

    python3 tests/features.py           writes FEATURES.md from what the last runs left
    python3 tests/features.py --check   fails where the tests declare other features than FEATURES.md has
"""

import dataclasses
import fcntl
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
RUNS = TOP / "build" / "features.json"
PAGE = TOP / "FEATURES.md"
TOPICS = {
    "TorchScript": "TorchScript",
    "FX": "torch.fx",
    "torch.export": "torch.export",
    "Native": "A native runtime inside PyTorch",
    "Operators": "Operators of your own",
}


@dataclasses.dataclass(frozen=True)
class Feature:
    """The arguments of the mark."""

    topic: str
    name: str
    pytorch: str = "runs"
    rushlight: str = "runs"

    def __post_init__(self):
        if self.topic not in TOPICS:
            raise ValueError(f"feature: there is no topic {self.topic!r}: {', '.join(TOPICS)}")
        for who in (self.pytorch, self.rushlight):
            if who not in ("runs", "refuses"):
                raise ValueError(f"feature: {who!r} is neither 'runs' nor 'refuses'")


@dataclasses.dataclass
class Seen:
    """What was seen while one test ran."""

    max_abs: float | None = None
    pytorch: str = ""  # the last message of each
    rushlight: str = ""

    def difference(self, value):
        self.max_abs = value if self.max_abs is None else max(self.max_abs, value)

    def refusal(self, error):
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        ours = any("/rushlight/" in f for f in files) or "rushlight: " in str(error)
        setattr(self, "rushlight" if ours else "pytorch", f"{type(error).__name__}: {error}")


def enter(runs):
    """Puts {node id: its features and what was seen} into build/features.json."""
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    with open(RUNS.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(RUNS.read_text()) if RUNS.exists() else {}
        RUNS.write_text(json.dumps(known | runs, indent=1, sort_keys=True))
