"""The commands ``fit``, ``plan`` and ``demo``: their options, and the order of their steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opdisc.cli.console import (
    STANDARD_OUTPUT,
    GroupedCommand,
    WeightBound,
    from_input,
    print_bought,
    print_json,
    print_text,
    warn,
)
from opdisc.cli.fitting.error_costs import error_cost_options, stated_costs
from opdisc.cli.fitting.reading import (
    database_option,
    named_table_option,
    reading_options,
    stated_name,
    stated_place,
    taken_reading,
)
from opdisc.cli.fitting.releasing import (
    check_release,
    ignored_weak_promises,
    ledger_for,
    ledger_options,
    name_in_ledger,
    refuse_overwriting,
    told_weak_promises,
)
from opdisc.cli.fitting.starts import read_pilot, start_options, stated_starts
from opdisc.cli.progress import progress_steps
from opdisc.cli.show import model_text
from opdisc.data import FilePath, load_schema, public_facts
from opdisc.errors import TableError
from opdisc.mechanisms import SPHERE_NOISES
from opdisc.models import save_model
from opdisc.planning import LOGISTIC, MECHANISMS
from opdisc.privacy import NeighboringRelation
from opdisc.tuned import FIT_SECONDS, THRESHOLD_BUDGET

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

_SCHEMA = click.option(
    "--schema",
    required=True,
    callback=from_input,
    help="Schema file (TOML) or the name of a shipped one.",
)

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
    default=FIT_SECONDS,
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


@click.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc budget --create loans.ledger --epsilon-limit 4 --table loans
  opdisc fit loans.csv --schema loans.toml --epsilon 1 --ledger loans.ledger --out card.json
  opdisc fit --table loans --database bank.duckdb --schema loans.toml --epsilon 1
  opdisc fit adult.csv --schema adult-small --epsilon 0.1 --weight-bound 2 --json
""",
)
@click.argument("data", type=click.Path(path_type=Path), required=False, callback=from_input)
@_SCHEMA
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
@ledger_options
@click.option(
    "--out", type=click.Path(path_type=Path), help="File of the model (JSON); - prints it."
)
@click.option("--force", is_flag=True, help="Let --out replace a file.")
@database_option
@reading_options
@_EXPLAIN
@_JSON
def fit(
    data: Path | None,
    schema: str,
    ledger: Path | None,
    table_name: str | None,
    database: str | None,
    out: Path | None,
    force: bool,
    explain: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Learn a scorecard from the table in the file DATA, of any size.

    DATA is text with one row a line (CSV; gzip is unpacked), Parquet, Arrow, Excel, or a DuckDB or
    SQLite file with a --query. --table and --database name a table of a database instead.

    A schema whose target declares more than two classes gets several cards under one receipt.
    Prints the scorecard and its receipt; nothing else depends on the rows. What the ledger adds up
    to goes to standard error. Every public mistake is refused before the ledger records anything;
    a failure after that leaves the budget spent.
    """
    if out == STANDARD_OUTPUT:
        out, as_json = None, True  # what a file would hold
    place, named_table = stated_place(data, database, table_name)
    inputs: list[FilePath] = [place, schema, *([] if ledger is None else [ledger])]
    inputs += stated_starts(arguments, place)
    check_release(out, inputs, force=force)
    book = ledger_for(ledger, table_name, data, out)
    with progress_steps(4) as step:
        step("starting")
        from opdisc.cli.fitting import learn_model, read_to_learn  # heavy imports only when needed

        declared = load_schema(schema)  # once: it may be a pipe, or edited while the table is read
        step("reading the table")
        reading = taken_reading(arguments)
        read_pilot(arguments, declared, reading)
        table = read_to_learn(place, declared, reading | named_table, warn)
        named = arguments["oracle"]
        step("learning the scorecard" + ("" if named == "auto" else f", asking {named}"))
        if arguments.pop("progress"):
            arguments["progress"] = lambda text: step(text, advance=False)
        with told_weak_promises(warn):
            model = learn_model(table, declared, ledger=book, say=warn, **arguments)
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


@click.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc plan loans.csv --schema loans.toml
  opdisc plan loans.csv --schema loans.toml --epsilon 0.5
  opdisc plan loans.csv --schema loans.toml --epsilon 0.5 --explain
  opdisc plan --table loans --database bank.duckdb --schema loans.toml
""",
)
@click.argument("data", type=click.Path(path_type=Path), required=False, callback=from_input)
@_SCHEMA
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
@named_table_option
@database_option
@reading_options
@click.option(
    "--explain", is_flag=True, help="Print every mechanism too, and the reasons in detail."
)
@_JSON
def plan(
    data: Path | None,
    schema: str,
    table_name: str | None,
    database: str | None,
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
    from opdisc.planning import PlannedFit, points_note
    from opdisc.tuned import PLANNED_EPSILONS

    place, named_table = stated_name(data, database, table_name)
    declared = load_schema(schema)
    costs = stated_costs(declared, false_negative_cost, false_positive_cost)
    reading = taken_reading(arguments)
    stated_starts(arguments, place)
    read_pilot(arguments, declared, reading)
    one = epsilon is not None
    in_detail = one and (explain or as_json)
    plan_one = planner_for(declared, arguments, costs, in_detail=in_detail, look_ahead=one)
    planned: list[PlannedFit] = []
    with progress_steps(2) as step:
        step("reading the table")
        needed = (*declared.columns, declared.target.column)
        n_rows, assumptions = public_facts(place, columns=needed, **reading, **named_table)
        step("predicting errors")
        for each in PLANNED_EPSILONS if epsilon is None else (epsilon,):
            with ignored_weak_promises():  # the plan itself says them
                planned += plan_one(n_rows=n_rows, epsilon=each, assumptions=assumptions)
    is_public = arguments["relation"] == NeighboringRelation.REPLACE_ONE.value
    if note := points_note(declared, n_rows if is_public else arguments["public_row_guess"]):
        warn(f"note: {note}.")
    if as_json:
        print_json([plan_fields(item) for item in planned])
        return
    text = plan_text(planned) if one else table_text(planned)
    print_text(f"{text}\n{explained_text(planned)}" if explain else text)


@click.command(
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
