"""The lock for changes to PyTorch that the whole process would see."""

import threading

PYTORCH_LOCK = threading.RLock()
"""Held while an attribute or a global setting of PyTorch is changed for an export, so that two exports never mix their changes."""
