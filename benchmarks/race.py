r"""All installed oracles side by side on the same instances, in one run.

    python benchmarks/race.py                       a quick table, as opdisc oracles --benchmark
    python benchmarks/race.py --bounds 1,2,3,5 --epsilons 0.1,0.5,1,5,none --seeds 3 \
        --time-limit 120 --limit pulp:CBC=20 --skip-hopeless --out results/oracles --resume

The options are those of ``opdisc oracles --benchmark --help``. Nothing is timed but the solves.
"""

import sys

from opdisc.cli.app import main

if __name__ == "__main__":
    main(["oracles", "--benchmark", *sys.argv[1:]])
