"""Cards for exports, and rows whose cells are spelled as another program holds them."""

import math

from helpers.opdisc.cards import HIDDEN, any_schema, released

from opdisc.data.schema import Schema
from opdisc.errors import TableError

OTHERS = ("another", "yes ", "2", "=1+1", 'quoted "text"', "Yes")


def shown_model(rng, *, digits=17):
    """Return a random model without control characters, which no document holds.

    Its cuts have at most so many digits.
    """
    record = any_schema(rng)
    record["target"] |= {"positive": rng.choice(["ill", "=1+1", '"', 1, 0.5]), "negative": "no"}
    for feature in record["feature"]:
        if "thresholds" in feature:
            feature["thresholds"] = [float(f"{cut:.{digits}g}") for cut in feature["thresholds"]]
        for category in feature.get("categories", []):
            if isinstance(category, dict):
                category["values"] = [v for v in category["values"] if v not in HIDDEN]
        if isinstance(sides := feature.get("binary"), dict):
            for side in ("one", "zero"):
                sides[side] = [f"{side} shown" if v in HIDDEN else v for v in sides[side]]
                sides[side] = list(dict.fromkeys(sides[side]))
    schema = Schema.from_dict(record)
    points = [rng.randint(-3, 3) for _ in range(schema.n_columns)]
    return released(schema, points, rng.randint(-3, 3))


def near(cut):
    """Return numbers around a cut, as a program holds them."""
    return [cut, math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf), cut - 1, cut + 2.5]


def held_row(rng, schema, *, refused=0.02):
    """Return cells by column: texts as declared, doubles, None; a few that a card refuses."""
    row = {}
    for feature in schema.features:
        missing = [text for text in schema.missing_texts(feature) if text]
        pool = [None, "", *missing]
        if feature.kind == "categories":
            pool += [*feature.values * 3, *OTHERS]
        elif feature.kind == "binary":
            pool += [*feature.values * 3]
            pool += ["maybe"] if rng.random() < refused else []
        else:
            pool = [None, *missing, *(n for cut in feature.thresholds for n in near(cut))]
            pool = ["text"] if rng.random() < refused else pool
        row[feature.column] = rng.choice(pool)
    return row


def told(model, row):
    """Return the total and the answer of a row by the model; None where it refuses the row."""
    try:
        why = model.explain(row)
    except TableError:
        return None
    return why.total, str(why.answer)


def read_columns(model):
    """Return whether a column has a say: an export reads no other."""
    points = dict(zip(model.scorecard.columns, model.scorecard.points, strict=True))
    named = {f.column for f in model.schema.features if any(points[n] for n in f.column_names)}
    groups = [group for group in model.schema.exclusive if set(group) & named]
    return named.union(*groups)
