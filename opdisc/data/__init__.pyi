from .cells import (
    ANY_NUMBER as ANY_NUMBER,
    BOOLEAN_TEXTS as BOOLEAN_TEXTS,
    PLAIN_NUMBER as PLAIN_NUMBER,
    canonical_text as canonical_text,
    format_number as format_number,
    is_kept_by_a_number as is_kept_by_a_number,
    marks_missing as marks_missing,
    parse_number as parse_number,
)
from .counting.ranks import count_below as count_below
from .counting.row_counts import (
    RowCounts as RowCounts,
    count_no_rows as count_no_rows,
    counted_problem as counted_problem,
)
from .counting.sources import count_rows as count_rows, reads_twice as reads_twice
from .datasets.loading import (
    DatasetListing as DatasetListing,
    find_dataset as find_dataset,
    list_datasets as list_datasets,
    load_comparison_dataset as load_comparison_dataset,
    load_dataset as load_dataset,
)
from .datasets.openml import SOURCES as SOURCES, download_dataset as download_dataset
from .datasets.registry import DATASETS as DATASETS
from .datasets.schemas import load_schema as load_schema
from .encoded_table import EncodedTable as EncodedTable, aggregate as aggregate, encode as encode
from .encoding import (
    TextTable as TextTable,
    check_columns as check_columns,
    check_names as check_names,
    encode_cell as encode_cell,
    encode_features as encode_features,
    plain_table as plain_table,
    refuse_listed as refuse_listed,
    require_found_thresholds as require_found_thresholds,
)
from .files import (
    PRIVATE_MODE as PRIVATE_MODE,
    FilePath as FilePath,
    atomic_write_bytes as atomic_write_bytes,
    atomic_write_text as atomic_write_text,
    atomic_writer as atomic_writer,
    check_output as check_output,
    holds_the_same as holds_the_same,
    is_misplaced as is_misplaced,
    may_hold_password as may_hold_password,
    read_bounded as read_bounded,
)
from .findings import (
    NOT_PRIVATE as NOT_PRIVATE,
    check_table as check_table,
    line_numbers as line_numbers,
    row_findings as row_findings,
)
from .inputs import (
    Classes as Classes,
    SchemaLike as SchemaLike,
    as_numbers as as_numbers,
    parse_classes as parse_classes,
    parse_labels as parse_labels,
    parse_schema as parse_schema,
    require_storable_labels as require_storable_labels,
    several_classes as several_classes,
    two_classes as two_classes,
    warn_of_cells_between_0_and_1 as warn_of_cells_between_0_and_1,
)
from .label_encoding import (
    encode_classes as encode_classes,
    encode_declared_labels as encode_declared_labels,
    encode_label_values as encode_label_values,
    encode_labels as encode_labels,
    require_both_classes as require_both_classes,
)
from .packing import CellArray as CellArray
from .precision import plain_cells as plain_cells
from .reading.cell_texts import csv_text as csv_text
from .reading.chunks import (
    COLUMNS_UNSEEN as COLUMNS_UNSEEN,
    DTYPES_DECLARED as DTYPES_DECLARED,
    TableReader as TableReader,
    require_rows as require_rows,
)
from .reading.headers import public_header as public_header, read_header as read_header
from .reading.libsvm_file import read_libsvm as read_libsvm
from .reading.named_table import (
    database_place as database_place,
    is_server as is_server,
)
from .reading.opening import open_table as open_table
from .reading.provenance import (
    CLASSES_PUBLIC as CLASSES_PUBLIC,
    LABELS_PUBLIC as LABELS_PUBLIC,
    table_assumptions as table_assumptions,
)
from .reading.table_format import TableFormat as TableFormat, read_names as read_names
from .reading.tables import (
    count_lines as count_lines,
    public_facts as public_facts,
    read_table as read_table,
    table_text as table_text,
    write_table as write_table,
)
from .reading.workbook import told_sheets as told_sheets
from .rows import as_table as as_table, plain_numbers as plain_numbers
from .schema.categories import BinaryFeature as BinaryFeature, CategoryFeature as CategoryFeature
from .schema.checks import close_name as close_name, did_you_mean as did_you_mean
from .schema.columns import exclusive_positions as exclusive_positions
from .schema.draft import (
    check_column as check_column,
    draft_schema as draft_schema,
    is_usable as is_usable,
)
from .schema.error_costs import (
    CostsLike as CostsLike,
    expected_cost as expected_cost,
    parse_error_costs as parse_error_costs,
)
from .schema.features import (
    Feature as Feature,
    ThresholdFeature as ThresholdFeature,
    features_from_dict as features_from_dict,
)
from .schema.limits import PointLimits as PointLimits
from .schema.pilot import PilotDraft as PilotDraft, pilot_draft as pilot_draft
from .schema.points import schema_points as schema_points
from .schema.quantiles import QuantileFeature as QuantileFeature
from .schema.rarity import (
    constant_remedy as constant_remedy,
    rare_outcome_text as rare_outcome_text,
)
from .schema.schema import (
    Schema as Schema,
    column_structure as column_structure,
    count_combinations as count_combinations,
    with_error_costs as with_error_costs,
)
from .schema.target import (
    MOST_CLASSES as MOST_CLASSES,
    Label as Label,
    MulticlassTarget as MulticlassTarget,
    Target as Target,
    make_target as make_target,
    plain_label as plain_label,
    target_from_dict as target_from_dict,
)
from .spelling import (
    MOMENT as MOMENT,
    PRINTED_NUMBER as PRINTED_NUMBER,
    SAS_ZERO_TEXTS as SAS_ZERO_TEXTS,
    plain_text as plain_text,
    spellings as spellings,
)
