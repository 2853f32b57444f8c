from .demo import compile_kernels as compile_kernels, run_demo as run_demo
from .error_costs import error_cost_options as error_cost_options, stated_costs as stated_costs
from .fit import (
    learn_model as learn_model,
    read_to_learn as read_to_learn,
    take_out_two_class_options as take_out_two_class_options,
)
from .planning import (
    explained_text as explained_text,
    plan_fields as plan_fields,
    plan_text as plan_text,
    planner_for as planner_for,
    table_text as table_text,
)
from .predict import predict_file as predict_file
from .reading import (
    database_option as database_option,
    reading_options as reading_options,
    stated_place as stated_place,
    taken_reading as taken_reading,
)
from .releasing import (
    check_release as check_release,
    ignored_weak_promises as ignored_weak_promises,
    ledger_for as ledger_for,
    ledger_options as ledger_options,
    limit_note as limit_note,
    name_in_ledger as name_in_ledger,
    refuse_overwriting as refuse_overwriting,
    told_weak_promises as told_weak_promises,
)
from .scored_parts import ScoredPart as ScoredPart, written_parts as written_parts
from .starts import start_options as start_options, stated_starts as stated_starts
