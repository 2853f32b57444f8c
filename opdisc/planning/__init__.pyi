from .choice import (
    LOGISTIC as LOGISTIC,
    MECHANISMS as MECHANISMS,
    ScorecardMechanism as ScorecardMechanism,
    build_mechanism as build_mechanism,
    check_option as check_option,
)
from .classes import plan_cards as plan_cards
from .decision import (
    DecidedCard as DecidedCard,
    DecidedCards as DecidedCards,
    decide_card as decide_card,
    decide_cards as decide_cards,
    takes_logistic as takes_logistic,
)
from .first_draws import COMPILATIONS as COMPILATIONS, compile_kernels as compile_kernels
from .limits import (
    check_costs_of_cards as check_costs_of_cards,
    check_costs_of_classes as check_costs_of_classes,
    check_risks_of_classes as check_risks_of_classes,
    check_threshold_budget as check_threshold_budget,
    parse_automatic_bound as parse_automatic_bound,
    parse_base_measure as parse_base_measure,
    parse_max_rounds as parse_max_rounds,
    parse_time_limit as parse_time_limit,
    parse_weight_bound as parse_weight_bound,
    patience_of_each as patience_of_each,
)
from .logistic import (
    STARTED as STARTED,
    logistic_public as logistic_public,
    logistic_receipt as logistic_receipt,
    prefers_logistic as prefers_logistic,
    tilt_of as tilt_of,
    why_logistic as why_logistic,
    worth_of_start as worth_of_start,
)
from .named import (
    MechanismSettings as MechanismSettings,
    check_alternatives as check_alternatives,
    check_starts as check_starts,
)
from .plan import (
    RARE_BY_CHANCES as RARE_BY_CHANCES,
    PlannedFit as PlannedFit,
    plan_fit as plan_fit,
)
from .point_limits import worth_of_limits as worth_of_limits
from .points_memory import points_note as points_note
from .promise import Promise as Promise
from .request import (
    CardRequest as CardRequest,
    Shares as Shares,
    grid_around as grid_around,
    scorecard_grid as scorecard_grid,
)
from .utility import (
    epsilon_for as epsilon_for,
    plan_errors as plan_errors,
    predict_error as predict_error,
)
from .verdict import judge_noise as judge_noise, noise_of_card as noise_of_card
from .weight_rule import SettledFit as SettledFit, settle_fit as settle_fit
from .work import predict_work as predict_work
