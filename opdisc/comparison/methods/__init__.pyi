from .classes import class_positions as class_positions
from .method import (
    ComparisonError as ComparisonError,
    ComparisonMistake as ComparisonMistake,
    Family as Family,
    FitTask as FitTask,
    Fitted as Fitted,
    Method as Method,
    find_method as find_method,
    registry as registry,
)
