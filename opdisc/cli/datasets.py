"""``opdisc datasets``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.console import STANDARD_OUTPUT, print_json, print_text, require_one_form
from opdisc.cli.progress import progress_steps
from opdisc.data import check_output, table_text, write_table

if TYPE_CHECKING:
    from opdisc.data import DatasetListing

_EXPLAINED = {
    "available": "here, and its checksum is the known one",
    "bundled": "comes with scikit-learn",
    "missing": "not here",
    "unreadable": "here, but not readable",
    "checksum differs": "here as another version of the file; it loads all the same",
}


@click.command(
    epilog="""\b
Examples
  opdisc datasets
  opdisc datasets adult
  opdisc datasets adult --download
  opdisc datasets breast-cancer --out breast-cancer.csv
"""
)
@click.argument("name", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the table NAME as CSV, to - too."
)
@click.option(
    "--download",
    is_flag=True,
    help="Fetch the table NAME from OpenML into the directory of OPDISC_DATA, or ./data.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def datasets(name: str | None, out: Path | None, download: bool, as_json: bool) -> None:
    """List the known tables, say how to get the table NAME, fetch it or write it as CSV.

    Nothing is fetched without --download. A fetched table is converted into the known file's form
    and kept only if its checksum is that of the known file.
    """
    from opdisc.data import find_dataset, list_datasets, load_dataset

    if name is None and (out is not None or download):
        option = "--download" if download else "--out"
        raise click.UsageError(f"{option} needs the NAME of a table; 'opdisc datasets' lists them")
    if download:
        if out is not None:
            raise click.UsageError("--download and --out are two steps; do them one by one.")
        _download(str(name), as_json)
        return
    if name is not None and out is not None:
        require_one_form(out, as_json)
        if out == STANDARD_OUTPUT:
            print_text(table_text(load_dataset(name)))
            return
        check_output(out)
        table = load_dataset(name)
        write_table(table, out)
        if as_json:
            print_json({"name": name, "rows": len(table), "out": str(out)})
        else:
            print_text(f"{len(table):,} rows of {name} written to {out}\n")
        return
    listings = [item for item in list_datasets() if name in (None, item.dataset.name)]
    if not listings and name is not None:
        find_dataset(name)  # refuses the name
    if as_json:
        print_json([_record(item) for item in listings])
    elif name is None:
        print_text("".join(map(_line, listings)) + "'opdisc datasets NAME' says more of one.\n")
    else:
        print_text(_description(listings[0]))


def _download(name: str, as_json: bool) -> None:
    from opdisc.data import download_dataset

    with progress_steps(1) as step:
        step(f"fetching {name} from OpenML")
        path = download_dataset(name)
    if as_json:
        print_json({"name": name, "path": str(path)})
    else:
        print_text(f"{name} fetched from OpenML, checksum as known, written to {path}\n")


def _record(item: DatasetListing) -> dict[str, Any]:
    from opdisc.data import SOURCES

    dataset = item.dataset
    source = SOURCES.get(dataset.name)
    return {
        "name": dataset.name,
        "status": item.status,
        "path": None if item.path is None else str(item.path),
        "title": dataset.title,
        "rows": dataset.rows,
        "schemas": list(dataset.schemas),
        "source": dataset.source,
        "licence": dataset.licence,
        "obtain": dataset.obtain,
        "openml": None if source is None else source.number,
        "file": dataset.filename,
        "sha256": dataset.sha256,
    }


def _line(item: DatasetListing) -> str:
    record = _record(item)
    text = f"{record['name']:<16}{record['status']:<18}{record['title']}\n"
    if record["status"] == "missing":
        text += f"{'':<16}from {record['source']}: {record['obtain']}\n"
        if record["openml"] is not None:
            text += f"{'':<16}or run: opdisc datasets {record['name']} --download\n"
    return text


def _description(item: DatasetListing) -> str:
    record = _record(item)
    schemas = ", ".join(record["schemas"])
    lines = [
        ("table", f"{record['name']}: {record['title']}, {record['rows']:,} rows"),
        ("status", _EXPLAINED[item.status]),
        *([("file", record["path"])] if record["path"] else []),
        ("schemas", f"{schemas} (use: opdisc compare --dataset SCHEMA)"),
        ("source", f"{record['source']}, {record['licence']}"),
    ]
    if record["file"] is not None:
        lines += [
            ("by hand", record["obtain"]),
            ("place", f"{record['file']}, in the directory of OPDISC_DATA or in ./data"),
            ("sha256", record["sha256"]),
        ]
        number = record["openml"]
        fetch = "not on OpenML in this form"
        if number is not None:
            fetch = f"OpenML {number}; run: opdisc datasets {record['name']} --download"
        lines.append(("by OpenML", fetch))
    return "".join(f"{key + ':':<12}{text}\n" for key, text in lines)
