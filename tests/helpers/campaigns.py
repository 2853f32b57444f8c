"""Long campaigns in parts: which cases a run leaves out."""

from collections import defaultdict


def left_out(cases, part, parts):
    """Return those of (name, times, key) that the part leaves out; each name keeps one at least.

    A campaign has ``times`` as many parts as others. All parts together leave nothing out.
    """
    campaigns = defaultdict(list)
    for name, times, key in cases:
        campaigns[name, times].append(key)
    return {
        key
        for (_, times), keys in campaigns.items()
        for i, key in enumerate(keys)
        if (i - part) % min(parts * times, len(keys))
    }
