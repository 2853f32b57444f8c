"""Fixtures shared by all tests."""

import signal

import pytest
from hypothesis import settings

import oracles

# How long an example takes depends on what else the machine does.
settings.register_profile("opdisc", deadline=None)
settings.load_profile("opdisc")


def pytest_configure():
    """Hear Ctrl-C, which a shell's background job is started deaf to: tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=oracles.available_oracles())
def oracle(request):
    """Every oracle whose solver is installed, one after the other."""
    return oracles.get_oracle(request.param)
