"""Long campaigns in parts: which cases a run leaves out."""

from collections import defaultdict


def left_out(cases, part, parts):
    """Return those of (name, key) that the part leaves out; each name keeps one at least.

    All parts together leave nothing out.
    """
    campaigns = defaultdict(list)
    for name, key in cases:
        campaigns[name].append(key)
    return {
        key
        for keys in campaigns.values()
        for i, key in enumerate(keys)
        if i % min(parts, len(keys)) != part % min(parts, len(keys))
    }
