from .analysis.results import ReportError as ReportError
from .majority import headline as headline
from .places import check_places as check_places
from .writing import write_report as write_report
