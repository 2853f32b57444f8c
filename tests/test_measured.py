"""Measured tables and pictures: pages, result files and pictures agree."""

import re
import sys

import compare_table
import pages
import pandas as pd
import pictures
import pytest
import result_files
from result_files import FOLDER, ROOT, ResultFile, load, markdown, write

NAMES = sorted(
    path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml")
)
WITH_TABLES = sorted(
    page for page in pages.DOCS.rglob("*.md") if pages.places(page.read_text(encoding="utf-8"))
)
SMALL = ResultFile(page="a.md", align="lr", columns=("way", "s"), rows=(("`a`", "1"), ("b", "")))


def test_a_page_shows_what_its_result_files_say():
    for page in WITH_TABLES:
        assert pages.written(page) == page.read_text(encoding="utf-8"), "benchmarks/pages.py"


def test_every_result_file_is_on_the_page_that_it_names():
    shown = {
        (name, page.relative_to(pages.DOCS).as_posix())
        for page in WITH_TABLES
        for name in pages.places(page.read_text(encoding="utf-8"))
    }
    assert shown == {(name, load(FOLDER / f"{name}.toml").page) for name in NAMES}
    assert len(shown) == len(NAMES) > 30


def test_a_result_file_says_when_and_by_what_it_was_measured():
    for name in NAMES:
        found = load(FOLDER / f"{name}.toml")
        dated = re.search(r"[a-z] 20\d\d$", found.measured)
        assert dated or found.measured == "not recorded", name
        script = re.match(r"python (benchmarks/\w+\.py)", found.command)
        assert script is None or (ROOT / script[1]).is_file(), name
        assert all(found.rows), name


def test_a_changed_figure_is_seen(tmp_path):
    name, page = "table", tmp_path / "page.md"
    write(tmp_path / "table.toml", SMALL)
    page.write_text(f"# A\n\n<!-- results: {name} -->\n<!-- end of results -->\n\nB\n")
    first = pages.written(page, tmp_path)
    page.write_text(first)
    assert pages.written(page, tmp_path) == first
    assert "| way | s |\n|---|---:|\n| `a` | 1 |\n| b | |\n" in first
    assert first.startswith("# A\n") and first.endswith("\n\nB\n")
    text = (tmp_path / "table.toml").read_text()
    (tmp_path / "table.toml").write_text(text.replace('"1"', '"2"'))
    assert "| `a` | 2 |" in pages.written(page, tmp_path)


def test_a_result_file_is_read_as_it_was_written(tmp_path):
    odd = ResultFile(
        page="a.md",
        command='echo "a\\b"',
        old="ε ± \\lvert x \\rvert",
        align="l",
        columns=("$\\varepsilon$",),
        rows=(('"',),),
    )
    write(tmp_path / "new" / "odd.toml", odd)
    assert load(tmp_path / "new" / "odd.toml") == odd


@pytest.mark.parametrize("cell", ["a|b", "a\nb"])
def test_a_cell_that_would_end_early_is_refused(cell):
    with pytest.raises(ValueError, match="no bar"):
        ResultFile(page="a.md", align="l", columns=("a",), rows=((cell,),))


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 cells"):
        ResultFile(page="a.md", align="lr", columns=("a", "b"), rows=(("a",),))


def test_a_caption_says_what_is_known_and_what_is_old():
    assert "Day of the measurement not recorded, command not recorded. [" in markdown(SMALL, "f")
    full = ResultFile(
        page="a.md",
        measured="1 May 2026",
        command="do it",
        machine="2 cores",
        compared="In one run.",
        old="before the change.",
        align="l",
        columns=("a",),
        rows=(("1",),),
    )
    assert markdown(full, "f.toml").endswith(
        "\n\nMeasured on 1 May 2026 with `do it` (2 cores). In one run. "
        "**Old:** before the change. [Figures](f.toml).\n"
    )


def test_a_benchmark_saves_day_command_and_version_but_keeps_what_was_said(tmp_path, monkeypatch):
    file = tmp_path / "table.toml"
    said = {"page": "b.md", "compared": "In turn.", "old": "x"}
    write(file, ResultFile(**said, align="l", columns=("a",), rows=(("[c](d.md) e",),)))
    script = str(ROOT / "benchmarks" / "streaming.py")
    words = [script, "/home/me/runs", "--rows", "5", "--save", str(file), "--fits", "1"]
    monkeypatch.setattr(sys, "argv", words)
    result_files.save(file, ["a", "b"], [["c e", 1], ["f", 2]])
    found = load(file)
    assert (found.page, found.compared, found.old) == ("b.md", "In turn.", "")
    assert found.command == "python benchmarks/streaming.py runs --rows 5 --fits 1"
    assert found.rows == (("[c](d.md) e", "1"), ("f", "2"))
    assert found.version.startswith("version ") and "core" in found.machine
    result_files.save(file, ["a"], [["b"]], made={"measured": "1 May 2026"})
    assert load(file).measured == "1 May 2026" and load(file).command == found.command
    result_files.save(None, ["a"], [["b"]])
    assert [path.name for path in tmp_path.iterdir()] == ["table.toml"]


# --- figures that stand in two places ------------------------------------------------------------


def best(name):
    """Cells of the scorecard, and of the best of the others, at each epsilon."""
    (_, *card), *others = load(FOLDER / "peers" / f"{name}.toml").rows
    columns = zip(*(row[1:] for row in others), strict=True)
    return (
        [cell.strip("*") for cell in card],
        [max((cell.strip("*") for cell in column), key=float) for column in columns],
    )


@pytest.mark.parametrize("name", ["adult-small", "adult-wide"])
def test_the_summaries_are_those_of_the_tables(name):
    card, others = best(name)
    (row,) = (r for r in load(FOLDER / "measured/libraries.toml").rows if r[0] == f"`{name}`")
    assert list(row[1:]) == [f"{a} / {b}" for a, b in zip(card, others, strict=True)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    columns = {"adult-small": "7 yes/no columns", "adult-wide": "37 columns"}[name]
    assert f"| {columns}: scorecard | {' | '.join(card)} |" in readme
    assert f"| {columns}: best of the others | {' | '.join(others)} |" in readme


# --- pictures ------------------------------------------------------------------------------------


def test_the_curves_are_drawn_from_the_tables_of_today():
    results = pictures.peers()
    text = (pictures.STATIC / "accuracy.svg").read_text(encoding="utf-8")
    assert pictures.digest(results.values()) in text, "python benchmarks/pictures.py"
    for title in pictures.TABLES.values():
        assert f">{title}</text>" in text
    for method, *_ in results["german"].rows:
        assert f">{method.strip('`')}</text>" in text


def test_another_figure_changes_the_digest():
    results = list(pictures.peers().values())
    assert pictures.digest(results) != pictures.digest(results[1:])


def test_card_and_receipt_are_drawn_from_the_released_model():
    model = pictures.load_model(pictures.MODEL)
    drawn = {"card": pictures.card(model), "receipt": pictures.receipt(model)}
    for name, text in drawn.items():
        assert (pictures.STATIC / f"{name}.svg").read_text(encoding="utf-8") == text, name
    assert ">HOLDS</text>" in drawn["receipt"] and ">Start with</text>" in drawn["card"]


def test_the_tutorial_prints_the_card_of_the_picture():
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert str(pictures.load_model(pictures.MODEL).scorecard) in tutorial


@pytest.mark.parametrize(
    "name", ["flow", "card", "receipt", "accuracy", "paper-accuracy", "paper-solves"]
)
def test_every_picture_is_on_a_page_with_a_text(name):
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages.DOCS.rglob("*.md"))
    markdown_images = re.findall(rf"!\[([^\]]{{40,}})\]\(_static/{name}\.svg\)", text)
    directives = re.findall(rf"_static/{name}\.svg\n:alt: (.{{40,}})", text)
    assert markdown_images or directives


def test_the_benchmarks_that_save_are_those_that_the_list_names():
    folder = ROOT / "benchmarks"
    saving = {
        path.name
        for path in folder.glob("*.py")
        if 'add_argument("--save"' in path.read_text(encoding="utf-8")
    }
    text = (folder / "README.md").read_text(encoding="utf-8")
    sentence = re.search(r"`--save` is an option of (.*?)\.\s", text, re.DOTALL)
    assert set(re.findall(r"`(\w+\.py)`", sentence[1])) == saving
    for name in saving:
        assert "save(" in (folder / name).read_text(encoding="utf-8").split("add_argument", 1)[1]


def test_a_mean_says_of_how_many_runs_it_is_and_refusals_never_lead():
    runs = pd.DataFrame(
        [
            ("opdisc", 0.1, 0.9),
            ("opdisc", 0.1, None),
            ("opdisc", 1.0, None),
            ("opdisc", 1.0, None),
            ("auto", 0.1, 0.7),
            ("auto", 0.1, 0.8),
            ("auto", 1.0, 0.5),
            ("auto", 1.0, 0.5),
        ],
        columns=["method", "epsilon", "test_accuracy"],
    ).assign(private=True)
    assert compare_table.table(runs) == (
        ["method", ".1", "1"],
        [
            ["`opdisc`", ".900 (1 of 2)", "refused 2 of 2"],
            ["`auto`", "**.750**", "**.500**"],
        ],
    )


def test_leads_are_paired_by_split():
    runs = pd.DataFrame(
        [
            ("auto", 1.0, 1, 0.9),
            ("auto", 1.0, 2, 0.7),
            ("opdisc", 1.0, 2, 0.6),
            ("opdisc", 1.0, 1, 0.7),
            ("rspm", 1.0, 1, 0.5),
            ("rspm", 1.0, 2, None),
        ],
        columns=["method", "epsilon", "split_seed", "test_accuracy"],
    ).assign(private=True)
    ((epsilon, other, lead, error),) = compare_table.leads(runs, "auto")
    assert (epsilon, other) == (1.0, "opdisc")
    assert lead == pytest.approx(0.15) and error == pytest.approx(0.05)
