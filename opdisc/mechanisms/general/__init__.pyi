from .argmin import run_with_argmin as run_with_argmin
from .loss_table import run_on_table as run_on_table
