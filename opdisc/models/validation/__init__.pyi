from .figures import Figure as Figure
from .file import load_report as load_report, save_report as save_report
from .groups import CountedGroup as CountedGroup
from .receipt import ValidationReceipt as ValidationReceipt
from .release import calibrate_validation as calibrate_validation
from .report import GroupRate as GroupRate, ValidationReport as ValidationReport
from .run import validate_card as validate_card
from .shift import Shift as Shift, shift_between as shift_between
from .tails import reach as reach
from .text import report_json as report_json, report_text as report_text
