"""One place spends: on disk before the draw, and then one sentence, whatever the rows say."""

import inspect
import pickle
from types import SimpleNamespace

import pytest

from opdisc.errors import UncertifiedRelease
from opdisc.privacy import Prepared, prepared_first, told_of_spending

RECEIPT = SimpleNamespace(guarantee="HOLDS", conditions=())
SENTENCE = "nothing came of it; the budget is spent."


class Diary:
    """Writes down what is called, in order; a ledger, a listener and a draw."""

    def __init__(self, **answers):
        self.answers = answers
        self.calls = []

    def note(self, name, receipt=RECEIPT):
        assert receipt is RECEIPT
        self.calls.append(name)
        answer = self.answers.get(name)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def spend(self, receipt):
        self.note("spend", receipt)


def charge(diary):
    return Prepared(receipt=RECEIPT, draw=lambda: diary.note("draw"), refusal=SENTENCE)


def run(diary):
    with told_of_spending(lambda receipt: diary.note("tell", receipt)):
        return charge(diary).run(diary)


@pytest.mark.parametrize("found", [0, "", (), "a card"])
def test_it_records_then_tells_then_draws_once(found):
    diary = Diary(draw=found)
    assert run(diary) == found
    assert diary.calls == ["spend", "tell", "draw"]


def test_without_a_ledger_or_a_listener_it_draws():
    diary = Diary(draw=1)
    assert charge(diary).run(None) == 1
    assert diary.calls == ["draw"]


class Panic(BaseException):
    """What compiled code raises where it gives up, as that of polars does."""


@pytest.mark.parametrize(
    "answer",
    [
        *(None, ValueError("row 17"), MemoryError("17"), RecursionError(), Panic("row 17")),
        UncertifiedRelease("17"),
    ],
)
def test_whatever_the_rows_say_is_one_sentence(answer):
    diary = Diary(draw=answer)
    with pytest.raises(UncertifiedRelease) as caught:
        run(diary)
    assert str(caught.value) == SENTENCE and diary.calls == ["spend", "tell", "draw"]
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("place", ["draw", "tell"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_stops_it_is_heard(place, stop):
    diary = Diary(draw=1) if place == "tell" else Diary()
    diary.answers[place] = stop()
    with pytest.raises(stop):
        run(diary)
    assert diary.calls[0] == "spend"


def test_what_was_not_recorded_is_not_drawn():
    diary = Diary(spend=OSError("disk full"), draw=1)
    with pytest.raises(OSError, match="disk full"):
        run(diary)
    assert diary.calls == ["spend"]


def test_who_cannot_listen_loses_no_release():
    diary = Diary(tell=ValueError("closed"), draw="a card")
    assert run(diary) == "a card"
    assert diary.calls == ["spend", "tell", "draw"]


def test_a_charge_within_a_charge_says_what_the_outer_one_says():
    inner = Prepared(receipt=RECEIPT, draw=lambda: None, refusal="the inner one failed.")
    outer = Prepared(receipt=RECEIPT, draw=lambda: inner.run(None), refusal=SENTENCE)
    with pytest.raises(UncertifiedRelease) as caught:
        outer.run(None)
    assert str(caught.value) == SENTENCE and caught.value.__context__ is None


def test_a_twin_that_raises_within_its_handler_would_be_found():
    def twin(draw):
        try:
            return draw()
        except Exception:
            raise UncertifiedRelease(SENTENCE)  # noqa: B904

    with pytest.raises(UncertifiedRelease) as caught:
        twin(lambda: Diary(draw=ValueError("row 17")).note("draw"))
    assert caught.value.__context__ is not None


def test_what_is_fitted_within_a_draw_is_told_to_nobody():
    """How many trials a search makes is private, so a listener hears of the search alone."""
    inner = Diary(draw="a trial")
    outer = Prepared(
        receipt=RECEIPT,
        draw=lambda: [charge(inner).run(None) for _ in range(3)],
        refusal=SENTENCE,
    )
    heard = []
    with told_of_spending(heard.append):
        assert outer.run(None) == ["a trial"] * 3
        assert heard == [RECEIPT]
        charge(inner).run(None)
    assert heard == [RECEIPT] * 2


def test_what_is_made_of_a_draw_has_the_same_charge():
    diary = Diary(draw=20)
    made = charge(diary).then(lambda found: found + 1)
    assert made.receipt is RECEIPT and diary.calls == []
    assert made.run(diary) == 21 and diary.calls == ["spend", "draw"]


@pytest.mark.parametrize("found", [None, 17])
def test_where_nothing_can_be_made_one_sentence_is_said(found):
    def make(found):
        raise ValueError(f"row {found}")

    diary = Diary(draw=found)
    with pytest.raises(UncertifiedRelease) as caught:
        charge(diary).then(make).run(diary)
    assert str(caught.value) == SENTENCE and diary.calls == ["spend", "draw"]
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@prepared_first
def released(diary, *, ledger=None):
    """Release what a diary draws."""
    diary.note("prepare")
    return charge(diary)


def test_who_is_asked_stops_at_the_receipt_and_who_is_called_runs_the_same():
    asked = Diary(draw="a card")
    assert released.prepare(asked, ledger=asked).receipt is RECEIPT
    assert asked.calls == ["prepare"]
    called = Diary(draw="a card")
    assert released(called, ledger=called) == "a card"
    assert called.calls == ["prepare", "spend", "draw"]
    without = Diary(draw="a card")
    assert released(without) == "a card" and without.calls == ["prepare", "draw"]


def test_a_function_that_is_prepared_first_is_one_like_any_other():
    assert inspect.isfunction(released) and released.__doc__ == "Release what a diary draws."
    assert list(inspect.signature(released).parameters) == ["diary", "ledger"]
    assert pickle.loads(pickle.dumps(released)) is released


def test_no_ledger_is_missed_because_it_came_without_its_name():
    def positional(diary, ledger=None):
        return charge(diary)

    def without(diary):
        return charge(diary)

    for wrong in (positional, without):
        with pytest.raises(TypeError, match="take its ledger by name"):
            prepared_first(wrong)
    diary = Diary(draw="a card")
    with pytest.raises(TypeError):
        released(diary, diary)
    assert diary.calls == []
