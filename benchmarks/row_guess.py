"""Held-out accuracy of default fits under add-or-remove-one, without and with a guess of the rows.

One fit on each split; the table is public. About a minute for four splits of adult_binary.

    OPDISC_DATA=... python benchmarks/row_guess.py --epsilon 1 --guesses 0 20000
"""

from __future__ import annotations

import argparse

import numpy as np
from splits import split_rows

from opdisc import PrivateScorecardClassifier, load_dataset, load_schema


def main() -> None:
    """Print a line for each guess; 0 stands for none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="adult-binary")
    parser.add_argument("--schema", default="adult_binary")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--guesses", type=int, nargs="+", default=[0, 20_000])
    parser.add_argument("--splits", type=int, default=4)
    arguments = parser.parse_args()
    table, schema = load_dataset(arguments.dataset), load_schema(arguments.schema)
    labels = table[schema.target.column]
    for guess in arguments.guesses:
        found = []
        for split in range(arguments.splits):
            train, test = split_rows(len(table), 1000 + split)
            model = PrivateScorecardClassifier(
                epsilon=arguments.epsilon,
                schema=schema,
                relation="add_or_remove_one",
                public_row_guess=guess or None,
            ).fit(table.iloc[train], labels.iloc[train])
            right = model.predict(table.iloc[test]).astype(str) == labels.iloc[test].astype(str)
            found.append(float(np.mean(right)))
        each = ", ".join(f"{accuracy:.4f}" for accuracy in found)
        scales = len(model.receipt_.noise_scales)
        print(
            f"guess {guess or 'none'}: mean {np.mean(found):.4f} ({each}), {scales} noise scales"
        )


if __name__ == "__main__":
    main()
