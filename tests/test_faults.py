"""A small share of the fault campaigns (benchmarks/faults.py), which lose nothing."""

import random

import faults_fuzz
import faults_oracles
import faults_processes


def test_no_charge_is_lost_to_kills_or_contention():
    assert faults_processes.kills(5, random.Random(1)) == []
    assert faults_processes.contended_charges(40) == []


def test_damaged_files_are_refused_in_a_sentence():
    assert faults_fuzz.models(120, random.Random(1)) == []
    assert faults_fuzz.ledgers(60, random.Random(1)) == []


def test_evil_oracles_release_nothing_that_holds_and_say_no_cell():
    assert faults_oracles.evil_oracles(29) == []


def test_the_campaign_sees_an_error_a_cell_and_an_overlong_sentence():
    def says(error):
        def act():
            raise error

        return faults_fuzz._outcome("x", act)

    from opdisc.errors import TableError

    assert says(TableError("a table must be a table.")) is None
    assert "escapes" in says(KeyError("k"))
    assert "a cell" in says(TableError(f"cell {faults_fuzz.CANARY}"))
    assert "sentence" in says(TableError("x" * 3000)) and "sentence" in says(TableError("a\nb"))
