"""A saved model printed, or written as a card that people can use."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.console import from_input, json_text, print_bytes, print_json, print_text, toned
from opdisc.data import atomic_write_bytes, check_output
from opdisc.errors import FileMistake, ModelFileError
from opdisc.models import SavedModel, SavedMulticlassModel, load_model

if TYPE_CHECKING:
    from opdisc.models import ClassesVerdict, SavedLinearModel, Verdict

_FORMS = {
    "html": ("card_page", "A page to print."),
    "markdown": ("card_markdown", "A text with tables."),
    "png": ("card_picture", "A picture."),
    "sql": ("card_sql", "A SELECT that scores a table of typed columns."),
    "sql-text": ("card_sql_text", "The same for a table whose columns are text."),
    "python": ("card_python", "A file with score(row) and predict(row)."),
    "xlsx": ("card_workbook", "An Excel file that adds up what is typed in."),
    "registry": ("card_registry", "A record for a list of private releases, with blanks."),
    "onnx": ("card_onnx", "An ONNX model that gives total and answer."),
    "fhir": ("card_fhir", "A FHIR R4B questionnaire that calculates total and answer."),
    "pmml": ("card_pmml", "PMML 4.4 with reasons, for an engine that scores."),
}
"""What writes each form of a card, and what it is."""

_OF_ANY_MODEL = ("registry",)
"""Forms that ask for no points."""

_PRINTED = "-"

_NO_TEXT = {"png": "picture", "xlsx": "Excel file", "onnx": "ONNX model"}
"""Forms that are no text, and what they are."""

_NO_POINTS = "Its points change no answer, so they are not listed: --explain, or --json, has them."

THE_REST = "The whole receipt: --explain, or --json for a machine."


def model_text(
    model: SavedModel | SavedLinearModel | SavedMulticlassModel,
    as_json: bool,
    *,
    explain: bool = False,
) -> str:
    """Return a model as it is printed: the verdict first, the receipt short unless explained."""
    if as_json:
        return json_text(model.to_dict())
    verdict = _verdict_text(model.verdict_) if hasattr(model, "verdict_") else ""
    receipt = str(model.receipt) if explain else f"{model.receipt.brief()}\n{THE_REST}"
    constant = isinstance(model, SavedModel | SavedMulticlassModel) and model.is_only_constant
    points = _NO_POINTS if constant and not explain else model.summary
    parts = [verdict, points, f"Receipt\n{receipt}"]
    return "\n\n".join(filter(None, parts)) + "\n"


def _verdict_text(verdict: Verdict | ClassesVerdict) -> str:
    """Return a verdict's sentences, one a line, good news in another colour on a terminal."""
    lines = str(verdict).splitlines()
    return "\n".join(toned(line, is_good=line == verdict.good_news) for line in lines)


def _form_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, (_, words) in reversed(_FORMS.items()):
        command = click.option(f"--{name}", metavar="FILE", help=words)(command)
    return command


@click.command(
    epilog="""\b
Examples
  opdisc show card.json
  opdisc show card.json --explain
  opdisc show card.json --html card.html --sql card.sql
  opdisc show card.json --python - | head
"""
)
@click.argument("model", type=click.Path(path_type=Path), callback=from_input)
@_form_options
@click.option(
    "--explain", is_flag=True, help="Print the whole receipt: noise, theorem, reasons in detail."
)
@click.option("--force", is_flag=True, help="Replace files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def show(model: Path, explain: bool, force: bool, as_json: bool, **places: str | None) -> None:
    """Print the verdict, the points or weights and the receipt of a saved MODEL.

    With a FILE for a form of the card, writes that form instead; - prints it. A card is made
    from the released model alone: it costs no budget.
    """
    chosen = {form.replace("_", "-"): place for form, place in places.items() if place is not None}
    _check_places(model, chosen, force=force, as_json=as_json)
    saved = load_model(model)
    if not chosen:
        print_text(model_text(saved, as_json, explain=explain))
        return
    pointed = [form for form in chosen if form not in _OF_ANY_MODEL]
    if pointed and not isinstance(saved, SavedModel | SavedMulticlassModel):
        raise ModelFileError(
            f"a card shows the points of scorecards, but '{model}' is another kind of model; "
            f"leave out --{pointed[0]} to print it."
        )
    cards = {form: _card(saved, form) for form in chosen}  # all of them before any is written
    for form in chosen:
        if chosen[form] == _PRINTED:
            _refuse_control_sequences(form, cards[form])
    for form, place in chosen.items():
        if place == _PRINTED:
            print_bytes(cards[form])
        else:
            atomic_write_bytes(place, cards[form])
    files = {form: place for form, place in chosen.items() if place != _PRINTED}
    if as_json:
        print_json({"written": files})
    elif _PRINTED not in chosen.values():
        print_text("".join(f"written: {place}\n" for place in files.values()))


def _check_places(model: Path, chosen: dict[str, str], *, force: bool, as_json: bool) -> None:
    """Refuse places that are none, are the model, or hold something, before any is written."""
    printed = [form for form, place in chosen.items() if place == _PRINTED]
    if len(printed) > 1 or (printed and as_json):
        raise click.UsageError("standard output takes one form: give the others a file.")
    if printed and printed[0] in _NO_TEXT and sys.stdout is not None and sys.stdout.isatty():
        form = printed[0]
        raise click.UsageError(f"a terminal shows no {_NO_TEXT[form]}: give --{form} a file.")
    files = [place for place in chosen.values() if place != _PRINTED]
    if len({os.path.realpath(place) for place in files}) < len(files):
        raise click.UsageError("each form needs a file of its own.")
    for place in files:
        check_output(place, inputs=[model])
        if not force and os.path.exists(place) and os.path.getsize(place) > 0:
            raise FileMistake(
                f"a file must not be overwritten unasked, but {place} exists; name another, or "
                "say --force."
            )


def _refuse_control_sequences(form: str, card: bytes) -> None:
    """Refuse to show a terminal what it would obey: SQL holds a category's values as they are."""
    if sys.stdout is None or not sys.stdout.isatty():
        return
    shown = (c for c in card.decode("utf-8") if not c.isspace())
    if any(unicodedata.category(c) in ("Cc", "Cf") for c in shown):
        raise click.UsageError(
            f"a terminal would obey the control characters in it: give --{form} a file."
        )


def _card(model: SavedModel | SavedLinearModel | SavedMulticlassModel, form: str) -> bytes:
    """Return one form of a model; what it takes is imported for that form only."""
    import opdisc.models

    content: Any = getattr(opdisc.models, _FORMS[form][0])(model)
    return content if isinstance(content, bytes) else content.encode("utf-8")
