from .row_counts import RowCounts as RowCounts
from .sources import count_lines as count_lines, count_rows as count_rows
