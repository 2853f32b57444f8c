from .run import run_sweep as run_sweep
