from .messages import (
    Answer as Answer,
    Failure as Failure,
    Report as Report,
    Request as Request,
    RunnableQuestion as RunnableQuestion,
)
from .pool import ask_worker as ask_worker, solve_in_worker as solve_in_worker
