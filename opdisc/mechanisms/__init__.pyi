from .base import (
    Mechanism as Mechanism,
    NeededBound as NeededBound,
    NoiseSpec as NoiseSpec,
    PerturbingMechanism as PerturbingMechanism,
    PlannedMechanism as PlannedMechanism,
    Release as Release,
    SamplingMechanism as SamplingMechanism,
    ScorecardMechanism as ScorecardMechanism,
    Work as Work,
)
from .base_measure import BaseMeasure as BaseMeasure, is_listed as is_listed
from .changes import PublicCard as PublicCard
from .composition.attribute_tables import (
    TablesRelease as TablesRelease,
    calibrate_tables as calibrate_tables,
    noisy_tables as noisy_tables,
    release_tables as release_tables,
)
from .composition.cards import (
    CardRisks as CardRisks,
    CardsRelease as CardsRelease,
    card_epsilon as card_epsilon,
    receipt_of_cards as receipt_of_cards,
    run_cards as run_cards,
)
from .composition.quantiles import draw_cuts as draw_cuts, plan_cuts as plan_cuts
from .composition.risks import (
    RiskRelease as RiskRelease,
    RiskSpec as RiskSpec,
    calibrate_risks as calibrate_risks,
    charge_with_risks as charge_with_risks,
    noisy_counts as noisy_counts,
    planned_bins as planned_bins,
    receipt_with_risks as receipt_with_risks,
    split_epsilon as split_epsilon,
)
from .composition.thresholds import (
    DrawnCard as DrawnCard,
    ThresholdPlan as ThresholdPlan,
    charge_with_thresholds as charge_with_thresholds,
    plan_thresholds as plan_thresholds,
    receipt_with_thresholds as receipt_with_thresholds,
)
from .composition.validation import validate_card as validate_card
from .composition.validation_counts import calibrate_validation as calibrate_validation
from .exponential import (
    ExponentialMechanism as ExponentialMechanism,
    ExponentialSpec as ExponentialSpec,
)
from .general.argmin import run_with_argmin as run_with_argmin
from .general.loss_table import run_on_table as run_on_table
from .objective_perturbation import (
    SPHERE_NOISES as SPHERE_NOISES,
    BlockOneHotMechanism as BlockOneHotMechanism,
    BlockSpec as BlockSpec,
    SphereMechanism as SphereMechanism,
    SphereNoise as SphereNoise,
    SphereSpec as SphereSpec,
    one_hot_mechanism as one_hot_mechanism,
)
from .opsamp.mechanism import OPSampMechanism as OPSampMechanism
from .opsamp.minimisers import DrawOptions as DrawOptions, DrawProgress as DrawProgress
from .opsamp.run import OPSampRelease as OPSampRelease, run_opsamp as run_opsamp
from .permute_and_flip import (
    AStarPermuteAndFlipMechanism as AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism as PermuteAndFlipMechanism,
    can_flip_by_a_star as can_flip_by_a_star,
    is_searched as is_searched,
)
from .receipts import PreparedRelease as PreparedRelease
from .rehearsal import toy_problem as toy_problem
from .robust_vote.learners import (
    ErmLearner as ErmLearner,
    EstimatorLearner as EstimatorLearner,
    PartLearner as PartLearner,
)
from .robust_vote.rules import (
    RobustVoteMechanism as RobustVoteMechanism,
    VoteRule as VoteRule,
    check_candidates as check_candidates,
    default_parts as default_parts,
)
from .robust_vote.run import VoteRelease as VoteRelease, run_robust_vote as run_robust_vote
from .robust_vote.trust import Isolation as Isolation
from .run import (
    prepare_mechanism as prepare_mechanism,
    run_mechanism as run_mechanism,
)
from .selection.candidates import CandidateReceipt as CandidateReceipt
from .selection.random_stopping import trial_law as trial_law
from .selection.receipt import SelectionReceipt as SelectionReceipt
from .selection.trials import (
    Selected as Selected,
    prepare_selection as prepare_selection,
    private_selection as private_selection,
)
from .separator import (
    SeparatorMechanism as SeparatorMechanism,
    SeparatorNoise as SeparatorNoise,
    SeparatorRoute as SeparatorRoute,
    SeparatorSpec as SeparatorSpec,
)
from .separator_sets import (
    conjunction_grid as conjunction_grid,
    conjunction_rows as conjunction_rows,
    coordinate_rows as coordinate_rows,
)
from .staged import StagedMechanism as StagedMechanism, StagedSpec as StagedSpec
from .stages import stump_columns as stump_columns
