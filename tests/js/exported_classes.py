"""Makes the file of classes.test.js: exported_classes.py FILE."""

import enum
import pathlib
import sys
from typing import Dict, List, Optional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402, F401, I001 - before torch
import torch  # noqa: E402
import rushlight  # noqa: E402


class Mode(enum.Enum):
    ADD = 1
    SCALE = 2


@torch.jit.script
class Account:
    def __init__(self, total: torch.Tensor, name: str, mode: Mode):
        self.total = total
        self.name = name
        self.mode = mode


def steps(x, mode: Mode, account: Account, others: List[Account], by_name: Dict[str, Mode], maybe: Optional[Account]):
    if mode == Mode.ADD:
        account.total = account.total + x
    else:
        account.total = account.total * x
    for other in others:
        account.total = account.total + other.total
    account.mode = mode
    return account, [account, Account(x, "new", Mode.ADD)], {"n": len(by_name)}, by_name, maybe


def one(n: int):
    return Mode.ADD if n == 1 else Mode.SCALE


rushlight.export(torch.jit.script(steps), None, f"{sys.argv[1]}/steps.rush")
rushlight.export(torch.jit.script(one), (1,), f"{sys.argv[1]}/one.rush")
