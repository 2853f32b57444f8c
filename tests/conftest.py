"""Fixtures shared by all tests."""

import pytest

import oracles


@pytest.fixture(params=oracles.available_oracles())
def oracle(request):
    """Every oracle whose solver is installed, one after the other."""
    return oracles.get_oracle(request.param)
