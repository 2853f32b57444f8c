"""Numbers that decide choices, each with where it was measured; no promise rests on any of them.

The page on such numbers is this file as a table, and a test holds them equal. "None" means: nobody
measured it: it is a round number that seemed fair.
"""

from __future__ import annotations

# --- seconds, bytes and rows that plans reckon with ----------------------------------------------

FIT_SECONDS = 60.0
"""Seconds that a whole fit is expected to take at most where nobody says otherwise.

Evidence: none.
"""

DRAW_SECONDS = 30.0
"""Seconds that a staged draw alone is expected to take at most, on any table.

Evidence: benchmarks/any_table.py.
"""

LARGEST_MEMORY = 2e9
"""Bytes that a fit is expected to need at most.

Evidence: none.
"""

ASSUMED_ROWS = 100_000
"""Rows that work is planned for where their number is neither public nor guessed.

Evidence: none.
"""

LEAST_SECONDS = 0.1
"""Seconds of any fit.

Evidence: benchmarks/any_table.py.
"""

SECONDS_PER_CELL = 4e-8
"""Seconds of reading a cell.

Evidence: benchmarks/any_table.py.
"""

SECONDS_PER_ROW = 2e-6
"""Seconds of reading a row, besides its cells.

Evidence: benchmarks/any_table.py.
"""

LEAST_BYTES = 1e8
"""Bytes of any fit.

Evidence: benchmarks/any_table.py.
"""

BYTES_PER_CELL = 2.0
"""Bytes of a cell while it is read.

Evidence: benchmarks/any_table.py.
"""

BYTES_PER_KEPT_CELL = 12.0
"""Bytes of a distinct point's cell, counted and handed to a mechanism.

Evidence: benchmarks/any_table.py.
"""

PLANNED_EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
"""What ``opdisc plan`` compares where no epsilon is named.

Evidence: none.
"""

# --- which mechanism draws a card ----------------------------------------------------------------

STUMP_WEIGHT = 15.0
"""Rows times epsilon below which the only draw is a decision stump.

Up to 14 it is ahead of many cards on all of 23 tables, at 20 on 15.
Evidence: docs/utility.md#choosing-automatically.
"""

LOGISTIC_COLUMNS = 18
"""Statements up to which exact draws of whole cards lead, whatever the budget.

Evidence: docs/utility.md#the-logistic-card.
"""

LOGISTIC_WEIGHT = 100
"""Rows times epsilon for each statement from which on the logistic card leads.

Evidence: docs/utility.md#the-logistic-card.
"""

START_LEVEL = 11
"""Rows for each unit of the noise's length from which on a start pulls no more than 0 does.

Evidence: docs/how-to/start-from-a-card.md#how-wrong-may-it-be.
"""

# --- how large points are, and how many ----------------------------------------------------------

LARGEST_AUTOMATIC_BOUND = 5
"""Largest points that a fit chooses by itself.

Evidence: none.
"""

AFFORDABLE_GROWTH = 0.02
"""Share of the rows by which larger points may raise the predicted mean error over -1..1.

Evidence: benchmarks/weight_rule.py.
"""

MOST_STAGED_POINTS = 5
"""Points other than 0 of a staged card at most, as far as the time allows.

Evidence: docs/utility.md#choosing-automatically.
"""

MOST_CHEAP_POINTS = 7
"""Points other than 0 where the draw is cheap; on breastcancer 7 gain up to .01 over 4.

Evidence: docs/utility.md#choosing-automatically.
"""

CHEAP_SECONDS = 3.0
"""Seconds up to which a draw is cheap.

Evidence: none.
"""

LARGEST_START = 3
"""Largest start of a staged card; the least is 1 less it, so that opposites are as likely.

Evidence: docs/utility.md#choosing-automatically.
"""

NARROW_COLUMNS = 18
"""Columns up to which few starts are drawn from.

Starts of -2..3 lose up to .02 with 15 and 18 columns at epsilon .05, and gain up to .01 with 27
and more.
Evidence: docs/utility.md#choosing-automatically.
"""

NARROW_START = 2
"""Largest start where few columns are drawn from.

Evidence: docs/utility.md#choosing-automatically.
"""

EQUAL_MASSES_WEIGHT = 200.0
"""Rows times epsilon below which every number of points weighs the same, if columns are many.

On ten tables that gains .002 at 20 and 140, and nothing from 300 on; on adult-wide it loses .002
at 550.
Evidence: docs/utility.md#choosing-automatically.
"""

LEAST_THRESHOLDS = 2
"""Thresholds that every attribute of equal steps has at least; measured with two and three.

Evidence: docs/utility.md#choosing-automatically.
"""

MOST_THRESHOLDS = 4
"""Thresholds that every attribute of equal steps has at most; with seven they gained nothing.

Evidence: docs/utility.md#choosing-automatically.
"""

MOST_ATTRIBUTES = 18
"""Attributes of equal steps at most: all their combinations may be looked at.

Evidence: none.
"""

DEFAULT_PENALTY = 1.0
"""Log mass that every point costs by default under a measure that favours few.

Evidence: none.
"""

LARGEST_SHIFT = 2
"""By how much a card drawn near a public one may change the points that everyone starts with.

Evidence: none.
"""

# --- blocks of block noise -----------------------------------------------------------------------

BLOCK_ASSIGNMENTS = 243
"""Largest block where nothing is known about the rows: five coordinates at weights -1..1.

Evidence: docs/utility.md#choosing-automatically.
"""

LARGEST_SEARCHED_BLOCK = 3**10
"""Largest block table that branch and bound took in a second on small grids.

Evidence: docs/utility.md#choosing-automatically.
"""

SMALL_GRID = 3**19
"""Grids up to this size were searched in a second with the largest blocks, whatever the noise.

Evidence: docs/utility.md#choosing-automatically.
"""

SEARCHED_SHARE = 0.1
"""Share of the rows that a block's noise has to be for larger grids to be searched in seconds.

Noise far below the losses leaves the search as hard as without noise.
Evidence: docs/utility.md#choosing-automatically.
"""

# --- shares and sizes of what a card is released with --------------------------------------------

THRESHOLD_BUDGET = 0.1
"""Share of epsilon that private thresholds take where nothing else is said.

Evidence: none.
"""

MOST_BINS = 30
"""Groups of totals that a risk table counts at most.

Evidence: none.
"""

FEW_BINS = 12
"""Groups of totals where the number of rows is not known.

Evidence: none.
"""

ROWS_PER_NOISE = 10
"""Rows in a group for each unit of the noise's scale.

Evidence: none.
"""

VOTES_PER_NOISE = 3.0
"""Votes for each unit of a robust vote's noise.

Evidence: none.
"""

ROWS_PER_PART = 30
"""Rows in each part of a robust vote.

Evidence: none.
"""

# --- convex mechanisms ---------------------------------------------------------------------------

LARGEST_SCORE = 4.0
"""Public guess of a logistic card's largest score where nobody gave a number of rows.

Evidence: docs/utility.md#the-logistic-card.
"""

SCORE_FROM_START = 0.4
"""How far noise may move a score from a start, for each row beside a unit of its length.

Evidence: docs/how-to/start-from-a-card.md#how-wrong-may-it-be.
"""

PILOT_RIDGE = 3.0
"""Ridge of the sum of losses, columns centred: what 60 public rows need to be a good start.

Evidence: docs/how-to/start-from-a-card.md#how-wrong-may-it-be.
"""

START_SPREAD = 1.0
"""Log-odds that a standard deviation of a score without odds stands for.

All rows that a schema allows are taken as equally likely.
Evidence: docs/how-to/start-from-a-card.md#how-wrong-may-it-be.
"""

ROUNDED_START = 5
"""Largest points of a start that is rounded, where nobody chose: a change by 1 is to matter.

Evidence: none.
"""

TYPICAL_MARGIN = 5.0
"""Public guess of the optimum's norm times the bound on a row; it sets the default ridge.

Evidence: none.
"""

FRANK_WOLFE_BEND = 1 / 12
"""Share of the largest curvature over the domain that default steps plan for.

Evidence: docs/convex.md#frank-wolfe.
"""

# --- words about a plan --------------------------------------------------------------------------

TINY_SHARE = 0.01
"""Share of the rows up to which there is hardly anything to gain.

Evidence: none.
"""
