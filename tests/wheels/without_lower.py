"""A plugin of pytest that skips the tests of rushlight.lower(), which needs a compiler and a checkout.

./dev wheels runs the public part of tests/python with it in a bare root, which must then pass FEWEST tests.
"""

import pytest
import rushlight

FEWEST = 200
passed = []


def lower(*args, **options):
    pytest.skip("rushlight.lower() needs a compiler and a checkout")


def pytest_runtest_setup():
    rushlight.lower = lower  # the first use of the part that needs PyTorch defines it


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        passed.append(report.nodeid)


def pytest_sessionfinish(session):
    if len(passed) < FEWEST:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
