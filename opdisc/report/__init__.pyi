from .analysis.results import ReportError as ReportError
from .majority import headline as headline
from .writing import check_places as check_places, write_report as write_report
