"""What a fitted scorecard estimator shows in a notebook, and why a row gets its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sklearn

from opdisc.errors import OPDiscError
from opdisc.models import (
    ClassExplanation,
    Explanation,
    Row,
    SavedModel,
    SavedMulticlassModel,
    card_fragment,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ShowsCard:
    """Shows its card once it has released one, and explains its answers.

    Before, it is shown as scikit-learn shows any estimator; so it is inside a pipeline.
    """

    if TYPE_CHECKING:

        def to_model(self) -> SavedModel | SavedMulticlassModel:
            """Return scorecards, schema and receipt."""

        def _labels(self) -> NDArray[Any]:
            """Return the labels in declared order, of the type of ``classes_``."""

    def explain(self, row: Row) -> Explanation | ClassExplanation:
        """Return why a row gets its answer: the statements that are true of it, and their points.

        Parameters
        ----------
        row : mapping, Series, sequence or DataFrame of one row
            Cells by column name, or one cell for each column in order.

        Raises
        ------
        OPDiscError
            If the estimator released anything but scorecards.
        """
        model = self.to_model()
        if isinstance(model, SavedMulticlassModel):
            way = model.explain(row)
            position = model.schema.labels.index(way.answer)
            return replace(way, answer=self._labels().tolist()[position])
        if not isinstance(model, SavedModel):
            raise OPDiscError(
                "explain adds up the points of one scorecard or of cards for several classes, but "
                "this estimator released something else; look at it in to_model()."
            )
        explained = model.explain(row)
        own = dict(zip(model.schema.classes, self._labels().tolist(), strict=True))
        return replace(explained, positive=own[explained.positive], answer=own[explained.answer])

    def _repr_html_inner(self) -> str:
        return self._shown() or super()._repr_html_inner()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        shown = self._shown() if sklearn.get_config()["display"] == "diagram" else ""
        return {**bundle, "text/html": shown} if shown else bundle

    def _shown(self) -> str:
        if not hasattr(self, "receipt_"):
            return ""
        model = self.to_model()
        is_card = isinstance(model, SavedModel | SavedMulticlassModel)
        return card_fragment(model) if is_card else ""
