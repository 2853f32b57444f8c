"""The command line."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc import __version__
from opdisc.cli.audit import audit
from opdisc.cli.budget import budget
from opdisc.cli.compare import compare
from opdisc.cli.console import (
    CommandGroup,
    WeightBound,
    json_text,
    print_bought,
    print_json,
    print_text,
    progress_steps,
    prompt_interruption,
    run_command_line,
)
from opdisc.cli.datasets import datasets
from opdisc.cli.oracles import oracles
from opdisc.cli.predict import predict_file, predicted_lines
from opdisc.cli.reading import reading_options, taken_reading
from opdisc.cli.releasing import check_release, ledger_for, name_in_ledger, refuse_overwriting
from opdisc.data import FilePath, check_output, count_lines
from opdisc.errors import TableError
from opdisc.mechanisms import PATIENCE, SPHERE_NOISES
from opdisc.models import SavedModel, load_model, save_model
from opdisc.planning import MECHANISMS
from opdisc.privacy import NeighboringRelation

if TYPE_CHECKING:
    from opdisc.models import SavedLinearModel

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

_RELATIONS = [member.value for member in NeighboringRelation]

_WEIGHT_BOUND = click.option(
    "--weight-bound",
    type=WeightBound(),
    default="auto",
    show_default=True,
    help="Largest points, or auto: as large as costs little in predicted errors.",
)

_NORM_BUDGET = click.option("--norm-budget", type=int, help="Largest squared norm of the points.")

_MAX_NONZERO = click.option(
    "--max-nonzero", type=int, help="Most points other than 0, the start included (-1..1 only)."
)

_BASE_MEASURE = click.option(
    "--base-measure",
    default="auto",
    show_default=True,
    help="Of exponential: uniform, levels, sparse, or sparse:PENALTY (nats per point not 0).",
)

_PATIENCE = click.option(
    "--patience", type=float, default=PATIENCE, show_default=True, help="Seconds for staged draws."
)

_NOISE_HELP = f"Of mechanism opdisc: {', '.join(SPHERE_NOISES)}."


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Example: a scorecard from a CSV file, and its predictions
  opdisc budget --create loans.ledger --epsilon-limit 4 --table loans
  opdisc fit loans.csv --schema loans.toml --epsilon 1 --ledger loans.ledger --out card.json
  opdisc show card.json
  opdisc predict card.json applicants.csv --out scored.csv
""",
)
@click.version_option(__version__, prog_name="opdisc")
def cli() -> None:
    """Learn integer scorecards from small sensitive tables under differential privacy."""


@cli.command(
    epilog="""\b
Examples
  opdisc budget --create loans.ledger --epsilon-limit 4 --table loans
  opdisc fit loans.csv --schema loans.toml --epsilon 1 --ledger loans.ledger --out card.json
  opdisc fit adult.csv --schema adult-small --epsilon 0.1 --weight-bound 2 --json
"""
)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--schema", required=True, help="Schema file (TOML) or the name of a shipped one.")
@click.option("--epsilon", type=float, required=True, help="Privacy loss, > 0.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="In [0, 1).")
@click.option("--mechanism", default="auto", show_default=True, help=", ".join(MECHANISMS) + ".")
@click.option("--noise", default="l2-laplace", show_default=True, help=_NOISE_HELP)
@click.option("--oracle", default="auto", show_default=True, help="See 'opdisc oracles'.")
@_WEIGHT_BOUND
@_NORM_BUDGET
@_MAX_NONZERO
@_BASE_MEASURE
@_PATIENCE
@click.option("--relation", default="replace_one", show_default=True, help=" or ".join(_RELATIONS))
@click.option("--time-limit", type=float, help="Seconds for the oracle; makes it CONDITIONAL.")
@click.option("--max-rounds", type=int, help="Cap on a long draw; makes it CONDITIONAL.")
@click.option(
    "--progress",
    is_flag=True,
    help="Show how a long search or draw goes. Depends on the rows: not private, never publish.",
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    help="Record the budget in this file; 'opdisc budget --create' makes it.",
)
@click.option("--table", "table_name", help="Table's name in the ledger; else DATA's file name.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to save the model (JSON).")
@click.option("--force", is_flag=True, help="Let --out replace a file.")
@reading_options
@_JSON
def fit(
    data: Path,
    schema: str,
    ledger: Path | None,
    table_name: str | None,
    out: Path | None,
    force: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Learn a scorecard from the table in the file DATA, of any size.

    DATA is text with one row a line (CSV; gzip is unpacked), Parquet, Arrow, Excel, or a DuckDB or
    SQLite file with a --query.

    Prints the scorecard and its receipt; nothing else depends on the rows. What the ledger adds up
    to goes to standard error. Every public mistake is refused before the ledger records anything;
    a failure after that leaves the budget spent.
    """
    from opdisc.cli.fit import learn_model  # heavy imports only when needed
    from opdisc.data import count_rows

    inputs: list[FilePath] = [data, schema, *([] if ledger is None else [ledger])]
    check_release(out, inputs, force=force)
    book = ledger_for(ledger, table_name, data, out)
    with progress_steps(3) as step:
        step("reading the table")
        counts = count_rows(data, schema, **taken_reading(arguments))
        step("learning the scorecard")
        if arguments.pop("progress"):
            arguments["progress"] = lambda text: step(text, advance=False)
        model = learn_model(counts, schema, ledger=book, **arguments)
        step("saving the model")
        try:
            if out is not None:
                refuse_overwriting(out, force=force)
                save_model(model, out)
        except TableError:
            # The budget is spent: what it bought must not be lost with the file.
            print_bought(_model_text(model, as_json))
            raise
    try:
        print_bought(_model_text(model, as_json), out)
    finally:
        name_in_ledger(model, book)


@cli.command(
    epilog="""\b
Example
  opdisc plan loans.csv --schema loans.toml --epsilon 0.5
"""
)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--schema", required=True, help="Schema file (TOML) or the name of a shipped one.")
@click.option("--epsilon", type=float, required=True, help="Privacy loss, > 0.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="In [0, 1).")
@_WEIGHT_BOUND
@_NORM_BUDGET
@_MAX_NONZERO
@_BASE_MEASURE
@_PATIENCE
@click.option("--relation", default="replace_one", show_default=True, help=" or ".join(_RELATIONS))
@reading_options
@_JSON
def plan(data: Path, as_json: bool, **arguments: Any) -> None:
    """Predict the extra errors of a fit to the table in the file DATA; spends nothing.

    Of the rows only their number is used, and only where the relation makes it public.
    """
    from opdisc.planning import plan_fit

    rows = count_lines(data, **taken_reading(arguments))
    planned = plan_fit(n_rows=rows, **arguments)
    if as_json:
        print_json([asdict(item) for item in planned])
        return
    lines = []
    for item in planned:
        chosen = " (automatic choice)" if item.automatic else ""
        text = item.reason if item.prediction is None else str(item.prediction)
        lines.append(f"{item.mechanism}{chosen}: {text}")
        if item.reason and item.prediction is not None:
            lines.append(f"  {'chosen because ' if item.automatic else ''}{item.reason}")
    print_text("\n".join(lines) + "\n")


@cli.command(
    epilog="""\b
Examples
  opdisc predict card.json applicants.csv --out scored.csv
  opdisc predict card.json applicants.csv | head -3
"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write; else printed.")
@reading_options
@_JSON
def predict(model: Path, data: Path, out: Path | None, as_json: bool, **arguments: Any) -> None:
    """Predict every row of the table in the file DATA with the saved MODEL.

    Writes CSV: the input's columns and rows in their order, with a column 'prediction' that holds
    the label values as the table's own target column spells them, or as the schema does where the
    table has no target column.
    """
    saved = load_model(model)
    if out is not None:
        check_output(out, inputs=[model, data])
    rows, predicted = 0, []
    with predicted_lines(out, as_json) as write:
        for lines, predictions in predict_file(saved, data, **taken_reading(arguments)):
            write(lines)
            rows += len(predictions)
            if as_json:
                predicted += predictions
    if as_json:
        written = {} if out is None else {"out": str(out)}
        print_json({"rows": rows, "predictions": predicted, **written})
    elif out is not None:
        print_text(f"{rows:,} rows with their predictions written to {out}\n")


@cli.command(
    epilog="""\b
Example
  opdisc show card.json
"""
)
@click.argument("model", type=click.Path(path_type=Path))
@_JSON
def show(model: Path, as_json: bool) -> None:
    """Print the points or weights and the receipt of a saved MODEL."""
    _print_model(load_model(model), as_json)


@cli.command(
    epilog="""\b
Examples
  opdisc demo
  opdisc demo --epsilon 0.2 --weight-bound 2
"""
)
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy loss, > 0.")
@click.option("--weight-bound", type=int, default=1, show_default=True, help="Largest points.")
@_JSON
def demo(epsilon: float, weight_bound: int, as_json: bool) -> None:
    """Learn a scorecard from a bundled public table.

    The table is scikit-learn's breast_cancer (569 rows): no file, no network. Prints the
    scorecard, its receipt, and its accuracy beside non-private logistic regression.
    """
    from opdisc.cli.demo import run_demo

    with progress_steps(1) as step:
        step("learning a scorecard for breast_cancer (n = 569)")
        shown = run_demo(epsilon, weight_bound)
    model = shown.classifier.to_model()
    if as_json:
        accuracies = [
            {"name": a.name, "private": a.private, "training": a.training, "held_out": a.held_out}
            for a in shown.accuracies
        ]
        # Not the fields of a saved model alone: accuracies never belong to one.
        parts = {
            k: v for k, v in model.to_dict().items() if k in ("scorecard", "schema", "receipt")
        }
        print_json({**parts, "accuracies": accuracies})
        return
    lines = [
        "Table: breast_cancer, bundled with scikit-learn; public, so accuracies may be shown.",
        f"Rows: {shown.n_training} to learn from, {shown.n_held_out} held out.\n",
        _model_text(model, False),
        f"{'Accuracy (these figures are not private)':<54}training  held-out",
    ]
    for a in shown.accuracies:
        label = a.name if a.private else f"non-private {a.name}"
        lines.append(f"  {label:<52}{a.training:>8.3f}  {a.held_out:>8.3f}")
    print_text("\n".join(lines) + "\n")


cli.add_command(audit)

cli.add_command(budget)

cli.add_command(compare)

cli.add_command(datasets)

cli.add_command(oracles)


def _print_model(model: SavedModel | SavedLinearModel, as_json: bool) -> None:
    print_text(_model_text(model, as_json))


def _model_text(model: SavedModel | SavedLinearModel, as_json: bool) -> str:
    if as_json:
        return json_text(model.to_dict())
    return f"{model.summary}\n\nReceipt\n{model.receipt}\n"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    with prompt_interruption():
        status = run_command_line(cli, arguments)
    sys.exit(status)


if __name__ == "__main__":
    main()
