from .analysis.results import ReportError as ReportError
from .writing import write_report as write_report
