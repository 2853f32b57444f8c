"""What failed in a comparison, and what has not run yet."""

from __future__ import annotations

from opdisc.report.formats import count, joined
from opdisc.report.results import Results


def missing_sentences(results: Results) -> tuple[str, ...]:
    """Return what failed, and what has not run yet."""
    runs, failures = len(results.runs), results.failures
    limited = int((failures["status"] == "time limit").sum())
    sentences = []
    planned = results.planned
    if planned is not None and planned > runs:
        sentences.append(
            f"{runs:,} of {count(planned, 'planned run')} are there: the comparison is not "
            "finished, and everything here is provisional."
        )
    elif planned is not None:
        sentences.append(f"All {count(planned, 'planned run')} are there.")
    else:
        sentences.append(f"{count(runs, 'run')} are there.")
    if len(failures):
        failed = len(failures) - limited
        parts = [f"{count(failed, 'run')} failed"] * (failed > 0)
        parts += [f"{count(limited, 'run')} hit the time limit"] * (limited > 0)
        sentences.append(
            f"{joined(parts)}. They are counted in every table and have no accuracy to average; "
            "a method that failed at an ε is not ranked there."
        )
    else:
        sentences.append("No run failed or hit a time limit.")
    if results.torn:
        sentences.append("An incomplete last line of the results was left out.")
    if results.repeated:
        sentences.append(f"{count(results.repeated, 'line')} of repeated runs were left out.")
    return tuple(sentences)
