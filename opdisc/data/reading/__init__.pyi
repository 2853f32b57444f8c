from .headers import read_header as read_header
from .provenance import (
    COLUMNS_UNSEEN as COLUMNS_UNSEEN,
    DTYPES_DECLARED as DTYPES_DECLARED,
    LABELS_PUBLIC as LABELS_PUBLIC,
    has_declared_dtypes as has_declared_dtypes,
    table_assumptions as table_assumptions,
    with_declared_dtypes as with_declared_dtypes,
)
from .tables import read_table as read_table, table_text as table_text, write_table as write_table
