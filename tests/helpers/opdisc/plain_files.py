"""Files of a table of plain 0/1 columns and its schema."""

from pathlib import Path

import numpy as np


def plain_files(folder: Path, cells: np.ndarray, labels: np.ndarray) -> tuple[str, str]:
    """Write a table and its schema into a folder; return their paths, as a command takes them."""
    names = [f"x{j}" for j in range(cells.shape[1])]
    lines = [",".join([*names, "y"])]
    lines += [",".join(map(str, row)) for row in np.column_stack([cells, labels]).tolist()]
    table, schema = folder / "table.csv", folder / "s.toml"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    features = "".join(f'[[feature]]\ncolumn = "{name}"\nbinary = true\n' for name in names)
    target = 'target = { column = "y", positive = "1", negative = "0" }\n'
    schema.write_text(f'name = "t"\n{target}{features}', encoding="utf-8")
    return str(table), str(schema)
