"""Released models of any schema, made without a fit, and rows that are hard to read."""

import msgspec
import pandas as pd

from opdisc import PrivateScorecardClassifier
from opdisc.data.schema import Schema
from opdisc.models import SavedModel, SavedMulticlassModel, Scorecard, card_classes
from opdisc.privacy import MulticlassReceipt, PrivacyReceipt, ask

HOSTILE = (
    "<script>alert(1)</script>",
    "a\"b'c",
    "x'; DROP TABLE t; --",
    "`code` **bold** [l](http://a.b) www.a.b",
    "$x_1$ | {y} %s",
    "naïve ☃ \\n \\",
    "*/ -->",
    '"""',
)
"""Names that try to be markup, SQL or code."""

VALUES = (*HOSTILE, "a b", "None", "NULL", "é", "e", "1", "0", "2.5", "-3", "100", "007", "5E1")

HIDDEN = ("bell\x07rung", "\x1b[31mred", "tab in\u202eside")
"""Values of a category that are no name."""

NUMBERS = ("0", "1", "-1", "1.0", "2.5", "29.999", "30", " 30 ", "30.", "+30", "1e2", "-.5", "007")

UNREADABLE = ("abc", "1-2", "1,5", ".", "e5", "12abc", "0x10", "1_000", "--1", "1e", "2020-01-02")
"""Texts that are no number."""

MISSING = ("?", "NA", "-999", "it's")

_SCHEMA = {
    "name": "any",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [{"column": "x", "binary": True}],
}

_FITTED = (
    PrivateScorecardClassifier(schema=_SCHEMA)
    .fit(pd.DataFrame({"x": ["0", "1"] * 5}), ["no", "yes"] * 5)
    .to_model()
)


def released(schema, points, start=0):
    """Return a model with the given points, as if it had been learned."""
    schema = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    weights = (start, *points)
    receipt = msgspec.structs.replace(
        _FITTED.receipt,
        schema_digest=schema.digest(),
        privacy_unit=schema.privacy_unit,
        rows_per_unit=schema.rows_per_unit,
        weights=tuple((w,) for w in weights),
    )
    card = Scorecard(
        target=schema.target.column,
        classes=schema.classes,
        columns=schema.column_names,
        points=tuple(points),
        start=start,
    )
    return SavedModel(scorecard=card, schema=schema, receipt=receipt)


def released_cards(schema, weights, strategy="tree"):
    """Return a model of several classes with the weights of each card, as if it was learned."""
    schema = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    one = released(_SCHEMA, (0,)).receipt
    shown = msgspec.structs.replace(
        one, schema_digest=schema.digest(), privacy_unit=schema.privacy_unit
    )
    common = {name: getattr(shown, name) for name in PrivacyReceipt.__struct_fields__}
    questions = ask(strategy, len(schema.labels))
    receipts = tuple(
        msgspec.structs.replace(
            shown,
            epsilon=0.9 * float(shown.epsilon * question.share / (2 * schema.rows_per_unit)),
            relation="add_or_remove_one",
            n_rows=None,
            weights=tuple((w,) for w in own),
        )
        for question, own in zip(questions, weights, strict=True)
    )
    cards = tuple(
        Scorecard(
            target=schema.target.column,
            classes=card_classes(strategy, question, schema.labels),
            columns=schema.column_names,
            points=tuple(own[1:]),
            start=own[0],
        )
        for question, own in zip(questions, weights, strict=True)
    )
    receipt = MulticlassReceipt(
        **common
        | {"mechanism": "cards for several classes", "rows_per_unit": schema.rows_per_unit},
        strategy=strategy,
        n_classes=len(schema.labels),
        cards=receipts,
    )
    return SavedMulticlassModel(scorecards=cards, schema=schema, receipt=receipt)


def any_cards(rng, strategy):
    """Return a random model of three to five classes, as :func:`any_model` makes one of two."""
    record = any_schema(rng)
    classes = rng.sample([*HOSTILE, 1, 0.5, "no"], rng.randint(3, 5))
    schema = Schema.from_dict(record | {"target": record["target"] | {"classes": classes}})
    weights = [
        [rng.randint(-3, 3) for _ in range(1 + schema.n_columns)]
        for _ in ask(strategy, len(classes))
    ]
    return released_cards(schema, weights, strategy)


def any_model(rng):
    """Return a random model: every kind of feature, hostile names, points of both signs."""
    record = any_schema(rng)
    record["target"] |= {"positive": rng.choice([*HOSTILE, 1, True, 0.5]), "negative": "no"}
    schema = Schema.from_dict(record)
    points = [rng.randint(-3, 3) for _ in range(schema.n_columns)]
    return released(schema, points, rng.randint(-3, 3))


def any_schema(rng):
    """Return a random schema, as a file says it, but for the labels."""
    names = [f"{name} {i}" for i, name in enumerate(rng.sample(HOSTILE, 6))]
    features = [_any_feature(rng, name) for name in names[:4]]
    features += [{"column": name, "binary": _any_sides(rng)} for name in names[4:]]
    rng.shuffle(features)
    return {
        "name": rng.choice(HOSTILE),
        "target": {"column": rng.choice(HOSTILE)},
        "missing_values": rng.sample(MISSING, rng.randrange(3)),
        "exclusive": [names[4:]] if rng.random() < 0.5 else [],
        "feature": features,
    }


def _any_sides(rng):
    if rng.random() < 0.5:
        return True
    values = rng.sample([*VALUES, *HIDDEN], 4)
    return {"one": values[:2], "zero": values[2:]}


def _any_feature(rng, name):
    if rng.random() < 0.5:
        cuts = sorted(rng.sample((-1.5, 0.0, 0.1, 1.0, 30.0, 1e-7, 0.30000000000000004), 3))
        codes = {"missing": rng.sample(["R", 77, -8.5, "it's"], 2)} if rng.random() < 0.5 else {}
        return {"column": name, "thresholds": cuts, **codes}
    values = rng.sample(VALUES, 4)
    grouped = {"name": "several", "values": [values[0], rng.choice(HIDDEN), *values[1:2]]}
    feature = {"column": name, "categories": [grouped, *values[2:]]}
    if rng.random() < 0.3:
        feature["text"] = True
    if rng.random() < 0.5:
        feature["missing"] = rng.choice(["several", values[2].strip()])
    return feature


def any_row(rng, schema, *, unreadable=0.02):
    """Return cells by column: text or None; some numbers cannot be read."""
    row = {}
    for feature in schema.features:
        missing = schema.missing_texts(feature)
        pool = [*NUMBERS, "true", "False", " TRUE", None, "", " ", *missing]
        if feature.kind == "categories":
            values = feature.values
            pool += [*values * 4, *VALUES, *(f" {value}\n" for value in values), "1.0", "100.00"]
        elif rng.random() < unreadable:
            pool = UNREADABLE
        elif feature.kind == "binary":
            pool = [*(f" {value}\n" for value in feature.values), *feature.values, None, *missing]
        else:
            pool = [*NUMBERS, *pool]
        row[feature.column] = rng.choice(pool)
    return row
