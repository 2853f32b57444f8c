"""``python -m opdisc``: the command line."""

import runpy

if __name__ == "__main__":
    runpy.run_module("opdisc.cli.start", run_name="__main__")
