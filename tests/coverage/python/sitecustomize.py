"""Starts to count lines. Python runs this file at startup if its folder is on PYTHONPATH, also in child processes."""
import coverage

coverage.process_startup()
