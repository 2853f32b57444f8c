from .app import cli as cli, main as main
from .console import run_command_line as run_command_line
