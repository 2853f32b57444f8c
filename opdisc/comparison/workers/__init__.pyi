from .backends import Backend as Backend, run_all as run_all
