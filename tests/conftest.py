"""Fixtures, markers and options shared by all tests."""

import importlib.util
import signal

import pytest
from helpers.campaigns import left_out
from helpers.extras import needs_licence, oracle_params
from hypothesis import settings

import oracles

# How long an example takes depends on what else the machine does.
settings.register_profile("opdisc", deadline=None)
settings.load_profile("opdisc")


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        metavar="K/N",
        help="of each test marked long, only every N-th case from the K-th on (K from 0); "
        "marked long(2): every 2 N-th",
    )


def pytest_configure():
    """Hear Ctrl-C, which a shell's background job is started deaf to: tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip a test whose optional packages are not installed."""
    # A mark without modules is of a test that looks for itself.
    for mark in item.iter_markers("extras"):
        for module in mark.args:
            if importlib.util.find_spec(module) is None:
                pytest.skip(f"needs {module}")


def pytest_collection_modifyitems(config, items):
    """Begin with long campaigns, or one process has one left when the others have ended.

    Leave out the other parts of them, one case of each at least staying.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    if config.getoption("part") is None:
        return
    part, parts = map(int, config.getoption("part").split("/"))
    long = [item for item in items if item.get_closest_marker("long")]
    cases = (
        (item.nodeid.partition("[")[0], *(item.get_closest_marker("long").args or [1]), item)
        for item in long
    )
    others = left_out(cases, part, parts)
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=list(others))


@pytest.fixture(params=oracle_params(oracles.available_oracles()))
def oracle(request):
    """Every oracle whose solver is installed, one after the other."""
    return needs_licence(oracles.get_oracle(request.param))
