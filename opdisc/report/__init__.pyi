from .cells import Evaluation as Evaluation, ResultCell as ResultCell
from .intervals import Interval as Interval
from .majority import headline as headline
from .places import check_places as check_places
from .results import ReportError as ReportError
from .roc import MeanCurve as MeanCurve, area_metric as area_metric, mean_curves as mean_curves
from .series import Series as Series
from .writing import write_report as write_report
