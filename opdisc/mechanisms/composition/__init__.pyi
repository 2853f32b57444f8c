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
from .questions import (
    STRATEGIES as STRATEGIES,
    TREE as TREE,
    Question as Question,
    ask as ask,
    preferences as preferences,
)
from .receipt import MulticlassReceipt as MulticlassReceipt
from .risks import (
    RiskRelease as RiskRelease,
    RiskSpec as RiskSpec,
    calibrate_risks as calibrate_risks,
    charge_with_risks as charge_with_risks,
    noisy_counts as noisy_counts,
    planned_bins as planned_bins,
    receipt_with_risks as receipt_with_risks,
    run_with_risks as run_with_risks,
    split_epsilon as split_epsilon,
)
from .thresholds import (
    NO_CARD_AFTER_THRESHOLDS as NO_CARD_AFTER_THRESHOLDS,
    THRESHOLD_BUDGET as THRESHOLD_BUDGET,
    ThresholdPlan as ThresholdPlan,
    draw_thresholds as draw_thresholds,
    plan_thresholds as plan_thresholds,
    receipt_with_thresholds as receipt_with_thresholds,
    rehearse_thresholds as rehearse_thresholds,
)
from .totals import (
    Bins as Bins,
    bin_totals as bin_totals,
    count_by_bin as count_by_bin,
    possible_totals as possible_totals,
)
