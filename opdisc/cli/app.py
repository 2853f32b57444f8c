"""The command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opdisc import __version__
from opdisc.cli.audit import audit
from opdisc.cli.budget import budget
from opdisc.cli.compare import compare
from opdisc.cli.console import (
    CommandGroup,
    GroupedCommand,
    WeightBound,
    print_bought,
    print_json,
    print_text,
    progress_steps,
    prompt_interruption,
    run_command_line,
    show_completion,
    warn,
)
from opdisc.cli.datasets import datasets
from opdisc.cli.explain import explain
from opdisc.cli.fitting import (
    check_release,
    error_cost_options,
    ignored_weak_promises,
    ledger_for,
    name_in_ledger,
    predict_file,
    predicted_lines,
    read_pilot,
    reading_options,
    refuse_overwriting,
    start_options,
    stated_costs,
    stated_starts,
    taken_reading,
    told_weak_promises,
)
from opdisc.cli.oracles import oracles
from opdisc.cli.schema import schema as schema_command
from opdisc.cli.show import model_text, show
from opdisc.cli.validate import validate
from opdisc.data import (
    FilePath,
    check_output,
    load_schema,
    public_facts,
)
from opdisc.errors import TableError
from opdisc.mechanisms import SPHERE_NOISES, THRESHOLD_BUDGET
from opdisc.models import load_model, save_model
from opdisc.planning import LOGISTIC, MECHANISMS, PATIENCE
from opdisc.privacy import NeighboringRelation

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
    help="For exponential: uniform, levels, sparse, or sparse:PENALTY (nats per point not 0). "
    "auto: uniform, and levels for few points (staged).",
)

_PATIENCE = click.option(
    "--patience",
    type=float,
    default=PATIENCE,
    show_default=True,
    help="Seconds that a fit may be expected to take; decides the mechanism, no clock is read.",
)

_RISK_BUDGET = click.option(
    "--risk-budget",
    type=float,
    metavar="SHARE",
    help="Share of epsilon, in (0, 1), that buys the rate per total.",
)

_THRESHOLD_BUDGET = click.option(
    "--threshold-budget",
    type=float,
    metavar="SHARE",
    help=f"Share of epsilon that finds private thresholds of the schema; else {THRESHOLD_BUDGET}.",
)

_ODDS_SCALE = click.option(
    "--odds-scale",
    metavar="POINTS,ODDS,DOUBLE[,LABEL]",
    help="For mechanism logistic: 600,50,20,good is 50 to 1 for good at 600 points, doubled by "
    "every 20 more.",
)

_ROW_GUESS = click.option(
    "--public-row-guess",
    type=int,
    metavar="N",
    help="Public number near that of the rows, for plans under add_or_remove_one; it decides "
    "accuracy and time, never privacy.",
)

_EXPLAIN = click.option(
    "--explain", is_flag=True, help="Print the whole receipt: noise, theorem, reasons in detail."
)

_EPSILON_HELP = "Privacy loss, > 0: the smaller, the stronger the protection."

_DELTA_HELP = "Chance of a larger loss, in [0, 1); most mechanisms need none."

_MECHANISM_HELP = (
    f"How the card is drawn; auto expects the fewest errors. {', '.join((*MECHANISMS, LOGISTIC))}."
)

_ORACLE_HELP = "Solver, see 'opdisc oracles'; auto chooses by public sizes."

_RELATION_HELP = f"{' (the number of rows is public) or '.join(_RELATIONS)}."

_IF_HIT = "If it is hit, nothing is released and the budget is spent."

_NOISE_HELP = f"For mechanism opdisc: {', '.join(SPHERE_NOISES)}."


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
@click.option(
    "--show-completion",
    type=click.Choice(("bash", "zsh", "fish")),
    is_eager=True,
    expose_value=False,
    callback=show_completion,
    help='Print a shell\'s completion script: eval "$(opdisc --show-completion bash)".',
)
def cli() -> None:
    """Learn integer scorecards from small sensitive tables under differential privacy."""


@cli.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc budget --create loans.ledger --epsilon-limit 4 --table loans
  opdisc fit loans.csv --schema loans.toml --epsilon 1 --ledger loans.ledger --out card.json
  opdisc fit adult.csv --schema adult-small --epsilon 0.1 --weight-bound 2 --json
""",
)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--schema", required=True, help="Schema file (TOML) or the name of a shipped one.")
@click.option("--epsilon", type=float, required=True, help=_EPSILON_HELP)
@click.option("--delta", type=float, default=0.0, show_default=True, help=_DELTA_HELP)
@click.option("--mechanism", default="auto", show_default=True, help=_MECHANISM_HELP)
@click.option("--noise", default="l2-laplace", show_default=True, help=_NOISE_HELP)
@click.option("--oracle", default="auto", show_default=True, help=_ORACLE_HELP)
@_WEIGHT_BOUND
@_NORM_BUDGET
@_MAX_NONZERO
@_BASE_MEASURE
@_PATIENCE
@_RISK_BUDGET
@_ODDS_SCALE
@_THRESHOLD_BUDGET
@click.option("--relation", default="replace_one", show_default=True, help=_RELATION_HELP)
@_ROW_GUESS
@click.option("--time-limit", type=float, help=f"Seconds for the solver or draw. {_IF_HIT}")
@click.option("--max-rounds", type=int, help=f"Most nodes of a long search. {_IF_HIT}")
@error_cost_options
@start_options
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
@_EXPLAIN
@_JSON
def fit(
    data: Path,
    schema: str,
    ledger: Path | None,
    table_name: str | None,
    out: Path | None,
    force: bool,
    explain: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Learn a scorecard from the table in the file DATA, of any size.

    DATA is text with one row a line (CSV; gzip is unpacked), Parquet, Arrow, Excel, or a DuckDB or
    SQLite file with a --query.

    A schema whose target declares more than two classes gets several cards under one receipt.
    Prints the scorecard and its receipt; nothing else depends on the rows. What the ledger adds up
    to goes to standard error. Every public mistake is refused before the ledger records anything;
    a failure after that leaves the budget spent.
    """
    inputs: list[FilePath] = [data, schema, *([] if ledger is None else [ledger])]
    inputs += stated_starts(arguments, data)
    check_release(out, inputs, force=force)
    book = ledger_for(ledger, table_name, data, out)
    with progress_steps(4) as step:
        step("starting")
        from opdisc.cli.fitting import learn_model, read_to_learn  # heavy imports only when needed

        step("reading the table")
        reading = taken_reading(arguments)
        read_pilot(arguments, schema, reading)
        table = read_to_learn(data, schema, reading, warn)
        named = arguments["oracle"]
        step("learning the scorecard" + ("" if named == "auto" else f", asking {named}"))
        if arguments.pop("progress"):
            arguments["progress"] = lambda text: step(text, advance=False)
        with told_weak_promises(warn):
            model = learn_model(table, schema, ledger=book, say=warn, **arguments)
        step("saving the model")
        try:
            if out is not None:
                refuse_overwriting(out, force=force)
                save_model(model, out)
        except TableError:
            # The budget is spent: what it bought must not be lost with the file.
            print_bought(model_text(model, as_json, explain=explain))
            raise
    try:
        print_bought(model_text(model, as_json, explain=explain), out)
    finally:
        name_in_ledger(model, book)


@cli.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc plan loans.csv --schema loans.toml
  opdisc plan loans.csv --schema loans.toml --epsilon 0.5
  opdisc plan loans.csv --schema loans.toml --epsilon 0.5 --explain
""",
)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--schema", required=True, help="Schema file (TOML) or the name of a shipped one.")
@click.option("--epsilon", type=float, help=f"{_EPSILON_HELP} Without it, a table of several.")
@click.option("--delta", type=float, default=0.0, show_default=True, help=_DELTA_HELP)
@_WEIGHT_BOUND
@_NORM_BUDGET
@_MAX_NONZERO
@_BASE_MEASURE
@_PATIENCE
@_RISK_BUDGET
@_THRESHOLD_BUDGET
@error_cost_options
@start_options
@click.option("--relation", default="replace_one", show_default=True, help=_RELATION_HELP)
@_ROW_GUESS
@reading_options
@click.option(
    "--explain", is_flag=True, help="Print every mechanism too, and the reasons in detail."
)
@_JSON
def plan(
    data: Path,
    schema: str,
    epsilon: float | None,
    explain: bool,
    as_json: bool,
    false_negative_cost: int | None,
    false_positive_cost: int | None,
    **arguments: Any,
) -> None:
    """Say whether a fit to the table in the file DATA can be any good; spends nothing.

    Five lines: how the extra errors that the noise may cost compare with the number of rows, what
    would draw the card and why, time and memory, what the receipt will say, and what more rows or
    a larger epsilon would bring. Nothing else is used of the rows, and their number only where the
    relation makes it public. With --explain also every mechanism, or of more than two classes each
    card's share of the budget.
    """
    from opdisc.cli.fitting import explained_text, plan_fields, plan_text, planner_for, table_text
    from opdisc.planning import PLANNED_EPSILONS, PlannedFit

    declared = load_schema(schema)
    costs = stated_costs(declared, false_negative_cost, false_positive_cost)
    reading = taken_reading(arguments)
    stated_starts(arguments, data)
    read_pilot(arguments, schema, reading)
    one = epsilon is not None
    in_detail = one and (explain or as_json)
    plan_one = planner_for(declared, arguments, costs, in_detail=in_detail, look_ahead=one)
    planned: list[PlannedFit] = []
    with progress_steps(2) as step:
        step("reading the table")
        needed = (*declared.columns, declared.target.column)
        n_rows, assumptions = public_facts(data, columns=needed, **reading)
        step("predicting errors")
        for each in PLANNED_EPSILONS if epsilon is None else (epsilon,):
            with ignored_weak_promises():  # the plan itself says them
                planned += plan_one(n_rows=n_rows, epsilon=each, assumptions=assumptions)
    if as_json:
        print_json([plan_fields(item) for item in planned])
        return
    text = plan_text(planned) if one else table_text(planned)
    print_text(f"{text}\n{explained_text(planned)}" if explain else text)


@cli.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc predict card.json applicants.csv --out scored.csv
  opdisc predict card.json applicants.csv | head -3
""",
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write; else printed.")
@reading_options
@_JSON
def predict(model: Path, data: Path, out: Path | None, as_json: bool, **arguments: Any) -> None:
    """Predict every row of the table in the file DATA with the saved MODEL.

    Writes CSV: the input's columns and rows in their order, and a column 'prediction'. Labels are
    spelled as in your table, else as in the schema.
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
Examples
  opdisc demo
  opdisc demo --epsilon 0.2 --weight-bound 2
"""
)
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Privacy loss, > 0.")
@click.option("--weight-bound", type=int, default=1, show_default=True, help="Largest points.")
@_EXPLAIN
@_JSON
def demo(epsilon: float, weight_bound: int, explain: bool, as_json: bool) -> None:
    """Learn a scorecard from a bundled public table.

    The table is scikit-learn's breast_cancer (569 rows): no file, no network. Prints the
    scorecard, its receipt, and its accuracy beside non-private logistic regression. Then compiles,
    once per installation, what a first fit of any other table would wait for.
    """
    from opdisc.cli.fitting import compile_kernels, run_demo

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
        compile_kernels()
        return
    lines = [
        "Table: breast_cancer, bundled with scikit-learn; public, so accuracies may be shown.",
        f"Rows: {shown.n_training} to learn from, {shown.n_held_out} held out.\n",
        model_text(model, False, explain=explain),
        f"{'Accuracy (these figures are not private)':<54}training  held-out",
    ]
    for a in shown.accuracies:
        label = a.name if a.private else f"non-private {a.name}"
        lines.append(f"  {label:<52}{a.training:>8.3f}  {a.held_out:>8.3f}")
    lines.append("\nA fit that is saved (--out card.json) becomes a page to print, SQL or Python:")
    lines.append("  opdisc show card.json --html card.html --sql card.sql --python card.py")
    print_text("\n".join(lines) + "\n")
    compile_kernels()


cli.add_command(audit)

cli.add_command(budget)

cli.add_command(compare)

cli.add_command(datasets)

cli.add_command(explain)

cli.add_command(oracles)

cli.add_command(schema_command)

cli.add_command(show)

cli.add_command(validate)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    with prompt_interruption():
        status = run_command_line(cli, arguments)
    sys.exit(status)


if __name__ == "__main__":
    main()
