from .risks import (
    RiskRelease as RiskRelease,
    RiskSpec as RiskSpec,
    calibrate_risks as calibrate_risks,
    noisy_counts as noisy_counts,
    run_with_risks as run_with_risks,
    split_epsilon as split_epsilon,
)
from .totals import Bins as Bins, attainable_totals as attainable_totals, bin_totals as bin_totals
