"""The registry of known public tables: provenance, licence and how to obtain each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A known public table.

    Parameters
    ----------
    name : str
        Name under which :func:`load_dataset` knows it.
    title : str
        What it is, in a few words.
    rows : int
        Documented number of rows.
    schemas : tuple of str
        Shipped schemas that fit it.
    source, licence : str
        Where it comes from, and on which terms.
    obtain : str
        How to make the expected file, as a clause without a full stop.
    filename : str or None
        Expected file; None for a table that scikit-learn bundles.
    sha256 : str or None
        Checksum (hex) of the expected file, as information.
    """

    name: str
    title: str
    rows: int
    schemas: tuple[str, ...]
    source: str
    licence: str
    obtain: str
    filename: str | None = None
    sha256: str | None = None


_RISKSLIM = "the RiskSLIM repository, https://github.com/ustunb/risk-slim"

_ADULT_FILE = (
    "download adult.data, put the header line of docs/reference/known-tables.md first, and save "
    "it as adult.csv"
)

_ADULT = Dataset(
    name="adult",
    title="Census income, training file",
    rows=32_561,
    schemas=("adult-small", "adult-wide", "adult-wide31", "adult-n19", "adult-n19-onehot"),
    source="UCI Adult, https://archive.ics.uci.edu/dataset/2/adult",
    licence="CC BY 4.0",
    obtain=_ADULT_FILE,
    filename="adult.csv",
    sha256="c30ce1e55a965b04950321870db74c19f4aa437120a692f32e72f6a4fa31c418",
)

_ALL = (
    _ADULT,
    Dataset(
        name="adult-balanced",
        title="Census income, every positive and as many negatives (seed 0)",
        rows=15_682,
        schemas=_ADULT.schemas,
        source=_ADULT.source,
        licence=_ADULT.licence,
        obtain=_ADULT_FILE,
        filename=_ADULT.filename,
        sha256=_ADULT.sha256,
    ),
    Dataset(
        name="adult-binary",
        title="Census income, 36 binary columns",
        rows=32_561,
        schemas=("adult_binary",),
        source=f"{_RISKSLIM} (from UCI Adult)",
        licence="CC BY 4.0",
        obtain="download adult_data.csv and save it as adult_binary.csv",
        filename="adult_binary.csv",
        sha256="b4f47313889d61c85eb1dd0ded48f624ce5145a6b2773aaed0378f5e6708f0e4",
    ),
    Dataset(
        name="german",
        title="German credit, coded categories",
        rows=1_000,
        schemas=("german",),
        source="UCI Statlog German Credit, https://archive.ics.uci.edu/dataset/144",
        licence="CC BY 4.0",
        obtain=(
            "download german.data, put the header line of docs/reference/known-tables.md before "
            "it, replace the spaces by commas, and save it as german.csv"
        ),
        filename="german.csv",
        sha256="532082711a8ec4df65cf60775eb7d59d3a5e3458c5a88695630beffd96dfff86",
    ),
    Dataset(
        name="mammo",
        title="Mammographic masses, binary columns",
        rows=961,
        schemas=("mammo",),
        source=f"{_RISKSLIM} (from UCI Mammographic Mass)",
        licence="CC BY 4.0",
        obtain="download mammo_data.csv and save it as mammo.csv",
        filename="mammo.csv",
        sha256="485a754dad0aa9063ce5c86b0170d2286e76899a041af2610d38bbe1ca64c5dd",
    ),
    Dataset(
        name="breastcancer",
        title="Breast cancer Wisconsin (original), scores from 1 to 10",
        rows=683,
        schemas=("breastcancer",),
        source=f"{_RISKSLIM} (from UCI Breast Cancer Wisconsin Original)",
        licence="CC BY 4.0",
        obtain="download breastcancer_data.csv and save it as breastcancer.csv",
        filename="breastcancer.csv",
        sha256="c5f4b53b631f263f0cfeffc8d7a8b919aab4d4d435fc7c6060bbba9a0d9eb012",
    ),
    Dataset(
        name="breast-cancer",
        title="Breast cancer Wisconsin (diagnostic), bundled with scikit-learn",
        rows=569,
        schemas=("breast-cancer",),
        source="UCI Breast Cancer Wisconsin Diagnostic, https://archive.ics.uci.edu/dataset/17",
        licence="CC BY 4.0",
        obtain="nothing to do, since scikit-learn bundles it",
    ),
)

DATASETS: Mapping[str, Dataset] = MappingProxyType({dataset.name: dataset for dataset in _ALL})
"""Known tables by name."""
