from .cells import (
    COST_METRICS as COST_METRICS,
    METRICS as METRICS,
    Evaluation as Evaluation,
    ResultCell as ResultCell,
    evaluations as evaluations,
    find_cells as find_cells,
)
from .intervals import Interval as Interval
from .ranking import Lead as Lead, Ranking as Ranking, rank as rank
from .results import (
    ReportError as ReportError,
    Results as Results,
    read_results as read_results,
)
from .roc import (
    MeanCurve as MeanCurve,
    area_metric as area_metric,
    mean_curves as mean_curves,
)
from .series import (
    FAMILY_SHORT as FAMILY_SHORT,
    Series as Series,
    find_series as find_series,
    relation_text as relation_text,
)
