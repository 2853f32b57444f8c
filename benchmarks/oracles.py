r"""All installed oracles side by side on the same instances, in one run.

    python benchmarks/oracles.py                    a quick table, as opdisc oracles --benchmark
    python benchmarks/oracles.py --bounds 1,2,3,5 --epsilons 0.1,0.5,1,5,none --seeds 3 \
        --time-limit 120 --limit pulp:CBC=20 --skip-hopeless --out results/oracles --resume

The options are those of ``opdisc oracles --benchmark --help``. Nothing is timed but the solves.
"""

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_SEARCHED = list(sys.path)

# This file has the name of the package, and its folder comes first on the path of every script
# beside it. So the folder is left out of the search, and where the package was meant, the
# package is what gets imported.
sys.path[:] = [place for place in sys.path if Path(place).resolve() != _HERE]
if __name__ == "oracles":
    import importlib

    del sys.modules[__name__]
    importlib.import_module(__name__)
    sys.path[:] = _SEARCHED
elif __name__ == "__main__":
    from opdisc.cli import main

    main(["oracles", "--benchmark", *sys.argv[1:]])
