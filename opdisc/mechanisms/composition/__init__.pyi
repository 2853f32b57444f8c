from .attribute_tables import (
    TablesRelease as TablesRelease,
    calibrate_tables as calibrate_tables,
    noisy_tables as noisy_tables,
    release_tables as release_tables,
)
from .cards import (
    CardsRelease as CardsRelease,
    card_epsilon as card_epsilon,
    run_cards as run_cards,
)
from .quantiles import Cut as Cut, draw_cuts as draw_cuts, plan_cuts as plan_cuts
from .risks import (
    RiskRelease as RiskRelease,
    RiskSpec as RiskSpec,
    calibrate_risks as calibrate_risks,
    charge_with_risks as charge_with_risks,
    noisy_counts as noisy_counts,
    planned_bins as planned_bins,
    receipt_with_risks as receipt_with_risks,
    split_epsilon as split_epsilon,
)
from .thresholds import (
    DrawnCard as DrawnCard,
    ThresholdPlan as ThresholdPlan,
    charge_with_thresholds as charge_with_thresholds,
    plan_thresholds as plan_thresholds,
    receipt_with_thresholds as receipt_with_thresholds,
)
from .validation import validate_card as validate_card
from .validation_counts import calibrate_validation as calibrate_validation
