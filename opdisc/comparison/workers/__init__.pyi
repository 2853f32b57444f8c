from .backends import Backend as Backend
from .backends import run_all as run_all
