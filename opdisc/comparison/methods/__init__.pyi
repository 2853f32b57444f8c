from .method import (
    ComparisonError as ComparisonError,
    FitTask as FitTask,
    Fitted as Fitted,
    Method as Method,
    find_method as find_method,
    registry as registry,
)
