from .cell_texts import csv_text as csv_text
from .chunks import (
    CHUNK_CELLS as CHUNK_CELLS,
    COLUMNS_UNSEEN as COLUMNS_UNSEEN,
    DTYPES_DECLARED as DTYPES_DECLARED,
    ROWS_ALONE as ROWS_ALONE,
    Chunk as Chunk,
    TableReader as TableReader,
    require_rows as require_rows,
)
from .database import (
    QueryResult as QueryResult,
    open_database as open_database,
    query_refusals as query_refusals,
    relation_batches as relation_batches,
)
from .frames import (
    FrameReader as FrameReader,
    frame_reader as frame_reader,
    narwhals_frame as narwhals_frame,
    typed_columns as typed_columns,
)
from .headers import public_header as public_header, read_header as read_header
from .libsvm_file import read_libsvm as read_libsvm
from .named_table import (
    FoundTable as FoundTable,
    database_place as database_place,
    find_table as find_table,
    is_server as is_server,
    open_server as open_server,
)
from .opening import is_database as is_database, open_table as open_table
from .provenance import (
    LABELS_PUBLIC as LABELS_PUBLIC,
    MADE_BY_HAND as MADE_BY_HAND,
    NO_ROW_TWICE as NO_ROW_TWICE,
    all_assumptions as all_assumptions,
    has_declared_dtypes as has_declared_dtypes,
    table_assumptions as table_assumptions,
    with_declared_dtypes as with_declared_dtypes,
)
from .table_format import TableFormat as TableFormat, read_names as read_names
from .tables import (
    count_lines as count_lines,
    public_facts as public_facts,
    read_table as read_table,
    table_text as table_text,
    write_table as write_table,
)
from .typed_file import optional_module as optional_module, plain_name as plain_name
from .workbook import told_sheets as told_sheets
