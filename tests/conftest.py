"""Fixtures shared by all tests."""

import pytest
from hypothesis import settings

import oracles

# How long an example takes depends on what else the machine does.
settings.register_profile("opdisc", deadline=None)
settings.load_profile("opdisc")


@pytest.fixture(params=oracles.available_oracles())
def oracle(request):
    """Every oracle whose solver is installed, one after the other."""
    return oracles.get_oracle(request.param)
