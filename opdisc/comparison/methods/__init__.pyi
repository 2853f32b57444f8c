from .method import (
    ComparisonError as ComparisonError,
    Fitted as Fitted,
    Method as Method,
    Task as Task,
    find_method as find_method,
    registry as registry,
)
