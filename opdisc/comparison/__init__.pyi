from .backends import check_backend as check_backend
from .comparing import Outcome as Outcome, Watcher as Watcher, compare as compare
from .methods.method import (
    ComparisonError as ComparisonError,
    ComparisonMistake as ComparisonMistake,
    registry as registry,
)
from .methods.paper import PARTS as PARTS, paper_arguments as paper_arguments
from .oracles.curves import curve_lines as curve_lines
from .oracles.report import (
    ratio_lines as ratio_lines,
    report_record as report_record,
    table_header as table_header,
    table_row as table_row,
)
from .oracles.run import run_sweep as run_sweep
from .oracles.sweep import Row as Row, Sweep as Sweep
from .oracles.tasks import (
    TASKS as TASKS,
    available_plain_tasks as available_plain_tasks,
    available_tasks as available_tasks,
)
from .plan import DEFAULT_METHODS as DEFAULT_METHODS, Plan as Plan, method_names as method_names
from .source import Source as Source, load_source as load_source
from .store import read_settings as read_settings
