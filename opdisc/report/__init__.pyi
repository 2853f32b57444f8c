from .analysis.results import ReportError as ReportError
from .page import write_report as write_report
