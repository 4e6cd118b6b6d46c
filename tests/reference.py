"""Sets up the reference PyTorch on import, which gives the same answers on every processor.

libtorch selects kernels by processor, and these differ in the last digits and for extreme numbers: gelu of the
greatest float is inf in one and 3.4e38 in another. The reference uses ATen's plain kernels, no oneDNN, OpenBLAS's
oldest kernels, one thread, and no fuser (its code generation does not always end).

RUSH_REFERENCE=avx2,onednn selects other kernels, to check that the tests do not depend on the choice. It is one of
default, avx2 and avx512, with or without onednn. `./dev test --reference avx2,onednn` sets it.
"""
import os
import platform
import sys

KERNELS = {"default": "DEFAULT", "avx2": "AVX2", "avx512": "AVX512"}


def parse(text):
    """Parses "avx2,onednn" to ("avx2", True)."""
    words = [w for w in text.split(",") if w]
    kernels = [w for w in words if w in KERNELS]
    if len(kernels) > 1 or set(words) - set(KERNELS) - {"onednn"}:
        raise SystemExit(f"RUSH_REFERENCE={text} is not one of {', '.join(KERNELS)}, with or without ,onednn")
    return (kernels or ["default"])[0], "onednn" in words


ATEN, ONEDNN = parse(os.environ.get("RUSH_REFERENCE", ""))
#: Names the kernels. Answers of one reference must not be used for another.
NAME = ATEN + (",onednn" if ONEDNN else "")

# The libraries read these when they are loaded, and so do programs that a test starts.
assert "torch" not in sys.modules, "reference comes before torch"
os.environ["ATEN_CPU_CAPABILITY"] = ATEN
if ATEN == "default" and platform.machine() == "x86_64":
    os.environ["OPENBLAS_CORETYPE"] = "Prescott"

import torch  # noqa: E402

if ATEN != "default" and KERNELS[ATEN] != torch.backends.cpu.get_cpu_capability():
    raise SystemExit(f"RUSH_REFERENCE={NAME}: this processor, or this torch, has only {torch.backends.cpu.get_cpu_capability()}")
torch.backends.mkldnn.set_flags(ONEDNN)
torch.set_num_threads(1)
torch._C._jit_set_texpr_fuser_enabled(False)

# torch.jit identifies a builtin function by id(), even after the function is deleted. torch.ao's quantized_decomposed
# defines overloads one by one and drops the previous packet. A list of a model at the same address is then taken for
# that builtin, and does not script. Therefore all registered functions are kept alive.
_registered = []
_register_builtin = torch.jit._builtins._register_builtin


def _register_and_keep(function, name):
    _registered.append(function)
    _register_builtin(function, name)


torch.jit._builtins._register_builtin = _register_and_keep
