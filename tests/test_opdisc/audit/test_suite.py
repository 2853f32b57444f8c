"""The shipped audit: finds nothing in the mechanisms, and would have found half the noise."""

import json
import math
from dataclasses import dataclass, replace

import pytest
from helpers.opdisc.broken_mechanisms import HalfNoiseBlocks, MassesFromRows

from opdisc.audit.attacks import attack_cases
from opdisc.audit.case import AuditCase, AuditResult
from opdisc.audit.count_cases import threshold_audit_cases
from opdisc.audit.grid_cases import (
    audit_mechanism,
    cost_audit_cases,
    gaussian_parity_epsilon,
    grid_audit_cases,
    grid_case,
    swapped_binary_rows,
    two_hypotheses,
)
from opdisc.audit.suite import audit_cases, run_audit
from opdisc.calibration.margins import published_gaussian_stddev
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic


def test_a_quick_audit_tells_calibrated_noise_from_half_of_it():
    # Seeded: it cannot flake. 400 draws catch half the noise at a false alarm of 1e-3.
    audited = run_audit(audit_cases()["permute_and_flip"], 1.0, 400, 1e-3, SeededEntropy(1))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted


USUAL_DRAWS = {"exponential": 3, "opdisc": 10, "opdisc_costs": 2}
USUAL_DRAWS |= {
    "attribute_tables": 3,
    "thresholds_median": 3,
    "order_of_rows": 0.25,
    "frank_wolfe": 2,
}


def test_one_class_holds_every_case_and_each_makes_the_draws_it_needs():
    attacks = attack_cases()
    cases = {**audit_cases(), **attacks}
    assert {type(case) for case in cases.values()} == {AuditCase}
    for name, case in cases.items():
        assert case.effort == USUAL_DRAWS.get(name, 0.1 if name in attacks else 1), name
        assert case.least == (100 if name in attacks else 1)


def test_a_case_counts_its_event_on_both_tables_with_and_without_the_defence():
    """Every release is the table's number: the control tells the tables apart, the other not."""
    asked = []

    def draws(first, second):
        def draw(table, public, size, entropy):
            asked.append((table, size))
            return [second if table else first] * size

        return draw

    case = replace(
        attack_cases()["labels_from_rows"], draw=draws(1, 1), control=draws(1, 0), event=bool
    )
    audited = case.run(0.5, 2_000, 1e-6, SeededEntropy(0))
    assert asked == [(0, 200), (1, 200)] * 2
    assert audited.calibrated.lower_bound == 0.0 and audited.less_noise.lower_bound > 2.0
    assert audited.calibrated.epsilon == 0.5 and audited.divisor == 1.0
    asked.clear()
    replace(case, event=None).run(0.5, 10, 1e-6)
    # Pilots on both tables, and then at least a hundred.
    assert asked == [(0, 1), (1, 1), (0, 100), (1, 100)] * 2


@pytest.mark.parametrize("name", ["risk_table", "validation"])
@pytest.mark.parametrize("seed", range(5))
def test_half_the_noise_of_counts_is_caught(seed, name):
    """False alarm: 1e-6 for each seed; the seeds are fixed."""
    audited = run_audit(audit_cases()[name], 1.0, 4_000, 1e-6, SeededEntropy(seed))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted
    # Its event is the worst: nearly all of the claim shows.
    assert audited.calibrated.lower_bound > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "refuted"),
    [
        (ExponentialMechanism(base_measure=BaseMeasure(by_levels=True)), False),
        (MassesFromRows(), True),
    ],
)
def test_masses_of_levels_that_look_at_a_row_are_caught(mechanism, refuted):
    # Seeded: it cannot flake. Each bound is wrong with probability at most 1e-6.
    pair = swapped_binary_rows()
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=pair.first.grid,
    )
    found = audit_mechanism(mechanism, pair, public, draws=2_000, entropy=SeededEntropy(3))
    assert found.refuted == refuted


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize(
    "name", [*grid_audit_cases(), *threshold_audit_cases(), *cost_audit_cases()]
)
def test_the_audit_stands_and_has_power(name):
    """False alarm for the calibrated mechanism: 1e-6. The half-noise control is seeded."""
    audited = run_audit(audit_cases()[name], 1.0, 2_000, 1e-6, SeededEntropy(3))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted


def test_the_bound_is_clopper_pearsons():
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=two_hypotheses().first.grid,
    )

    @dataclass(frozen=True)
    class Constant:
        """Always the same weight: loses nothing."""

        name: str = "constant"
        sampler: str = "none"
        condition: str | None = None

        def calibrate(self, public):
            return PermuteAndFlipMechanism().calibrate(public)

        def draw(self, problem, spec, entropy):
            return (1,)

    @dataclass(frozen=True)
    class Truthful(Constant):
        """Releases the majority label: loses everything."""

        def draw(self, problem, spec, entropy):
            return (1,) if problem.positives.sum() else (0,)

    def bound(mechanism, params):
        return audit_mechanism(
            mechanism,
            two_hypotheses(),
            replace(public, params=params),
            draws=100,
            false_alarm=0.08,
            entropy=SeededEntropy(0),
        ).lower_bound

    # 100 of 100 against 0 of 100, each limit at 0.01: 0.01^(1/100) against 1 - 0.01^(1/100).
    low = 0.01**0.01
    pure = bound(Truthful(), PrivacyParams(epsilon=1.0, delta=0.0))
    assert math.isclose(pure, math.log(low / (1 - low)), rel_tol=1e-9)
    approximate = bound(Truthful(), PrivacyParams(epsilon=1.0, delta=0.5))
    assert math.isclose(approximate, math.log((low - 0.5) / (1 - low)), rel_tol=1e-9)
    assert bound(Constant(), PrivacyParams(epsilon=1.0, delta=0.0)) == 0.0


def test_the_published_constant_is_refuted_in_closed_form():
    expected = {10: 0.39, 20: 0.53, 50: 0.80, 100: 1.07, 200: 1.43, 500: 2.08, 1000: 2.76}
    for d, number in expected.items():
        stddev = published_gaussian_stddev(1, 1.0, 1e-5, constant=7.0) * d / 4
        assert round(gaussian_parity_epsilon(stddev, d, 1e-5), 2) == number
    stddev = published_gaussian_stddev(1, 1.0, 1e-5, constant=3.5) * 1000 / 4
    assert round(gaussian_parity_epsilon(stddev, 1000, 1e-5, gap=1.0), 2) == 4.26


def test_an_audit_of_the_wrong_relation_or_size_is_refused():
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        grid=two_hypotheses().first.grid,
    )
    settings = {"entropy": SeededEntropy(0)}
    with pytest.raises(CalibrationError, match="replace_one"):
        audit_mechanism(PermuteAndFlipMechanism(), two_hypotheses(), public, **settings)
    public = replace(public, relation=NeighboringRelation.REPLACE_ONE)
    for wrong in ({"draws": 0}, {"false_alarm": 0.0}, {"false_alarm": 1.0}):
        with pytest.raises(CalibrationError, match=f"{next(iter(wrong))} must be"):
            audit_mechanism(
                PermuteAndFlipMechanism(), two_hypotheses(), public, **settings, **wrong
            )


def test_the_command_prints_and_exits_0_when_claims_stand(capsys):
    arguments = ["audit", "--mechanism", "permute_and_flip", "--draws", "100"]
    assert run_command_line(cli, arguments) == 0
    shown = capsys.readouterr().out
    assert "stands" in shown and "2.76 at d = 1000" in shown
    assert run_command_line(cli, [*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)[0]
    assert record["mechanism"] == "permute_and_flip" and record["refuted"] is False


def test_the_command_exits_1_when_a_claim_is_refuted(monkeypatch, capsys):
    class Loud(HalfNoiseBlocks):
        def calibrate(self, public):
            spec = HalfNoiseBlocks.calibrate(self, public)
            return replace(spec, rates=tuple(10 * rate for rate in spec.rates))

    # With a twentieth of the noise the outputs on the two tables hardly ever agree.
    broken = grid_case(Loud(blocks=((0,),), name="broken"), two_hypotheses())
    monkeypatch.setattr("opdisc.audit.audit_cases", lambda: {"broken": broken})
    assert run_command_line(cli, ["audit", "--draws", "200"]) == 1
    captured = capsys.readouterr()
    assert "REFUTED" in captured.out
    assert "broken lost more" in captured.err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--mechanism", "magic"], 2, "must be one of"),
        (["--draws", "0"], 2, "draws must be an integer of at least 1"),
        (["--epsilon", "-1"], 2, "epsilon"),
        (["--false-alarm", "2"], 2, "false_alarm must be in (0, 1)"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, status, said, capsys):
    mechanism = [] if "--mechanism" in arguments else ["--mechanism", "permute_and_flip"]
    assert run_command_line(cli, ["audit", *mechanism, *arguments]) == status
    captured = capsys.readouterr()
    assert said in captured.err and not captured.out


def test_a_result_knows_whether_it_refutes():
    result = AuditResult(
        mechanism="m", pair="p", epsilon=1.0, delta=0.0, lower_bound=1.01, draws=1, false_alarm=0.1
    )
    assert result.refuted and not replace(result, lower_bound=1.0).refuted
