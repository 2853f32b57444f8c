from .analysis.results import ReportError as ReportError
from .majority import headline as headline
from .writing import write_report as write_report
