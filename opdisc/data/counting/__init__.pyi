from .row_counts import RowCounts as RowCounts, counted_problem as counted_problem
from .sources import count_rows as count_rows, reads_twice as reads_twice
