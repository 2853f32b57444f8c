from .cards import (
    CardsRelease as CardsRelease,
    card_epsilon as card_epsilon,
    run_cards as run_cards,
)
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
    noisy_counts as noisy_counts,
    run_with_risks as run_with_risks,
    split_epsilon as split_epsilon,
)
from .totals import Bins as Bins, bin_totals as bin_totals, possible_totals as possible_totals
