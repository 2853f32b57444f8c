from .ranks import count_below as count_below
from .row_counts import (
    RowCounts as RowCounts,
    count_no_rows as count_no_rows,
    counted_problem as counted_problem,
)
from .sources import count_rows as count_rows, reads_twice as reads_twice
