"""Known tables and shipped schemas, without any of the tables."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from opdisc.data.datasets import loading as datasets, schemas
from opdisc.data.datasets.loading import (
    balanced_adult,
    find_dataset,
    list_datasets,
    load_comparison_dataset,
    load_dataset,
)
from opdisc.data.datasets.registry import DATASETS
from opdisc.data.datasets.schemas import load_schema, schema_path
from opdisc.data.encoded_table import encode
from opdisc.data.schema import Schema
from opdisc.errors import SchemaError, TableError

SIZES = {
    "adult-small": 7,
    "adult-wide": 37,
    "adult-wide31": 30,
    "adult-n19": 7,
    "adult-n19-onehot": 58,
    "adult_binary": 36,
    "german": 27,
    "mammo": 15,
    "breastcancer": 18,
    "breast-cancer": 8,
}


@pytest.fixture(autouse=True)
def no_tables(tmp_path, monkeypatch):
    monkeypatch.delenv("OPDISC_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_every_shipped_schema_loads_with_its_documented_size():
    assert {n: load_schema(n).n_columns for n in schemas.shipped_schemas()} == SIZES


@pytest.mark.parametrize("name", SIZES)
def test_a_shipped_schema_is_named_as_its_file_and_round_trips(name):
    schema = load_schema(name)
    assert schema.name == name
    assert schema.privacy_unit == "one person"
    assert Schema.from_dict(schema.to_dict()) == schema


def test_every_table_has_a_schema_and_every_schema_a_table():
    assert {s for d in DATASETS.values() for s in d.schemas} == set(SIZES)


def test_the_small_census_schema_asks_seven_questions_in_order():
    assert load_schema("adult-small").column_names == (
        "marital-status = Married-civ-spouse",
        "sex = Male",
        "education-num >= 13",
        "age >= 37",
        "hours-per-week > 40",
        "capital-gain > 0",
        "occupation = Exec or professional",
    )


def test_the_wide_census_schema_gives_an_unknown_occupation_its_own_column():
    schema = load_schema("adult-wide")
    row = {
        "education": "9th",
        "marital-status": "Divorced",
        "occupation": "?",
        "relationship": "Unmarried",
        "sex": "Female",
    }
    table = pd.DataFrame([row | {"income-per-year": " >50K"}, row | {"income-per-year": "<=50K"}])
    encoded = encode(table, schema)
    ones = np.flatnonzero(encoded.points[0, 1:])
    assert [schema.column_names[i] for i in ones] == [
        "education = No diploma",
        "occupation = Not given",
        "relationship = Unmarried",
        "marital-status = Divorced",
        "sex = Female",
    ]
    assert (encoded.positives.tolist(), encoded.negatives.tolist()) == ([1], [1])


def test_hyphens_and_underscores_are_the_same_in_a_schema_name():
    assert schema_path("adult-binary") == schema_path("adult_binary")
    assert schema_path("adult_small") == schema_path("adult-small")
    assert schema_path("breast-cancer") != schema_path("breastcancer")


def test_a_schema_file_is_loaded_by_path(tmp_path):
    path = tmp_path / "own.toml"
    path.write_bytes(schema_path("mammo").read_bytes())
    assert load_schema(path) == load_schema("mammo") == load_schema("own.toml")


@pytest.mark.parametrize("name", ["none", "", "../data/mammo"])
def test_an_unknown_schema_is_refused_with_the_known_ones(name):
    with pytest.raises(SchemaError, match="shipped one .*adult-small.* but"):
        schema_path(name)


def test_an_installed_package_finds_its_own_schemas(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "opdisc"
    (package / "data" / "datasets" / "shipped").mkdir(parents=True)
    (package / "data" / "datasets" / "shipped" / "x.toml").write_text("")
    strangers = tmp_path / "site-packages" / "data"
    strangers.mkdir()
    (strangers / "stranger.toml").write_text("")
    monkeypatch.setattr(schemas, "_PACKAGE", package)
    assert schemas.shipped_schemas() == ("x",)
    assert schema_path("x") == package / "data" / "datasets" / "shipped" / "x.toml"


def test_the_bundled_table_needs_no_file():
    table = load_dataset("breast-cancer")
    assert table.shape == (569, 31)
    assert table["diagnosis"].value_counts().to_dict() == {"benign": 357, "malignant": 212}
    # The documented first case: a malignant mass of mean radius 17.99.
    assert table.loc[0, "mean radius"] == 17.99
    assert table.loc[0, "diagnosis"] == "malignant"
    encoded = encode(table, load_schema("breast-cancer"))
    assert (encoded.positives.sum(), encoded.negatives.sum()) == (212, 357)
    # No column of the demonstration is constant.
    assert (encoded.points[:, 1:].min(axis=0) < encoded.points[:, 1:].max(axis=0)).all()
    with pytest.raises(TableError, match="bundles it"):
        find_dataset("breast-cancer")


@pytest.mark.parametrize("name", [n for n in DATASETS if n != "breast-cancer"])
def test_a_table_that_is_not_there_says_how_to_obtain_it(name):
    with pytest.raises(TableError, match="neither in the directory of OPDISC_DATA nor") as caught:
        load_dataset(name)
    message = str(caught.value)
    assert DATASETS[name].filename in message
    assert "https://" in message
    assert "\n" not in message


def test_an_unknown_table_is_refused_with_the_known_ones():
    with pytest.raises(TableError, match="one of adult, .*breast-cancer, got 'none'"):
        load_dataset("none")


def test_the_environment_variable_comes_before_the_local_directory(tmp_path, monkeypatch):
    for place, cell in (("data", "1"), ("elsewhere", "2")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mammo.csv").write_text(f"Malignant\n{cell}\n")
    assert load_dataset("mammo")["Malignant"].tolist() == ["1"]
    monkeypatch.setenv("OPDISC_DATA", str(tmp_path / "elsewhere"))
    assert load_dataset("mammo")["Malignant"].tolist() == ["2"]
    assert find_dataset("mammo") == tmp_path / "elsewhere" / "mammo.csv"
    (tmp_path / "elsewhere" / "mammo.csv").unlink()
    assert load_dataset("mammo")["Malignant"].tolist() == ["1"]


def test_the_listing_compares_checksums(tmp_path, monkeypatch):
    statuses = {entry.dataset.name: entry.status for entry in list_datasets()}
    assert statuses.pop("breast-cancer") == "bundled"
    assert set(statuses.values()) == {"missing"}
    (tmp_path / "mammo.csv").write_text("Malignant\n1\n")
    monkeypatch.setenv("OPDISC_DATA", str(tmp_path))
    entry = next(entry for entry in list_datasets() if entry.dataset.name == "mammo")
    assert (entry.status, entry.path) == ("checksum differs", tmp_path / "mammo.csv")
    known = hashlib.sha256(b"Malignant\n1\n").hexdigest()
    entry = datasets._listing(
        datasets.Dataset(
            name="m",
            title="",
            rows=1,
            schemas=(),
            source="",
            licence="",
            obtain="",
            filename="mammo.csv",
            sha256=known,
        )
    )
    assert entry.status == "available"


def test_the_balanced_table_keeps_every_positive_and_draws_as_many_negatives():
    labels = [" >50K" if i % 4 == 0 else "<=50K" for i in range(40)]
    adult = pd.DataFrame({"row": range(40), "income-per-year": labels})
    balanced = balanced_adult(adult)
    assert balanced["row"].tolist()[:10] == list(range(0, 40, 4))
    negatives = np.array([i for i in range(40) if i % 4])
    drawn = np.random.default_rng(0).choice(negatives, 10, replace=False)
    assert balanced["row"].tolist()[10:] == drawn.tolist()
    assert balanced.index.tolist() == list(range(20))
    with pytest.raises(TableError, match="no more positive rows"):
        balanced_adult(adult.iloc[[0, 1, 4]])
    with pytest.raises(TableError, match="income-per-year"):
        balanced_adult(adult[["row"]])


def test_a_schema_name_stands_for_its_table_and_the_census_is_balanced(tmp_path, monkeypatch):
    table, schema = load_comparison_dataset("breast_cancer")
    assert (len(table), schema) == (569, load_schema("breast-cancer"))
    rows = "".join(f"{i},{'>50K' if i % 4 == 0 else '<=50K'}\n" for i in range(40))
    (tmp_path / "adult.csv").write_text("age,income-per-year\n" + rows)
    (tmp_path / "mammo.csv").write_text("Malignant\n1\n")
    monkeypatch.setenv("OPDISC_DATA", str(tmp_path))
    for name in ("adult-small", "adult_wide", "adult-wide31", "adult-n19", "adult-n19-onehot"):
        table, schema = load_comparison_dataset(name)
        assert schema == load_schema(name)
        assert table["income-per-year"].value_counts().to_dict() == {">50K": 10, "<=50K": 10}
    assert load_comparison_dataset("mammo")[0]["Malignant"].tolist() == ["1"]
    with pytest.raises(TableError, match="needs the file adult_binary.csv"):
        load_comparison_dataset("adult-binary")
    with pytest.raises(SchemaError, match="adult-small"):
        load_comparison_dataset("nonsense")


def test_the_columns_of_the_paper_ask_one_question_each():
    schema = load_schema("adult-n19")
    assert [attribute.column for attribute in schema.attributes] == [
        "workclass",
        "education",
        "marital-status",
        "occupation",
        "relationship",
        "race",
        "sex",
    ]
    assert all(len(attribute.indices) == 1 for attribute in schema.attributes)
