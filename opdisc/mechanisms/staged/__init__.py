"""One exact draw: a card of few points, of equal steps, or a decision stump."""
