"""Python runs this at its start where its folder is on PYTHONPATH: it begins to count lines, in child processes, too."""
import coverage

coverage.process_startup()
