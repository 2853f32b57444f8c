from .figures import Figure as Figure
from .file import load_report as load_report, save_report as save_report
from .groups import (
    CountedGroup as CountedGroup,
    answers_positive as answers_positive,
    card_groups as card_groups,
    count_groups as count_groups,
    counted_groups as counted_groups,
)
from .receipt import ValidationReceipt as ValidationReceipt
from .report import GroupRate as GroupRate, ValidationReport as ValidationReport
from .shift import Shift as Shift, shift_between as shift_between
from .tails import reach as reach
from .text import report_json as report_json, report_text as report_text
