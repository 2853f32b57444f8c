from .cells import canonical_text as canonical_text, parse_number as parse_number
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
from .encoding import (
    CellArray as CellArray,
    aggregate as aggregate,
    check_columns as check_columns,
    encode as encode,
    encode_declared_labels as encode_declared_labels,
    encode_features as encode_features,
    encode_label_values as encode_label_values,
    encode_labels as encode_labels,
    require_both_classes as require_both_classes,
)
from .features import CategoryFeature as CategoryFeature
from .files import (
    PRIVATE_MODE as PRIVATE_MODE,
    FilePath as FilePath,
    atomic_write_text as atomic_write_text,
    check_output as check_output,
    is_misplaced as is_misplaced,
    read_bounded as read_bounded,
)
from .inputs import (
    Classes as Classes,
    SchemaLike as SchemaLike,
    as_numbers as as_numbers,
    as_table as as_table,
    parse_classes as parse_classes,
    parse_schema as parse_schema,
    two_classes as two_classes,
    warn_of_cells_between_0_and_1 as warn_of_cells_between_0_and_1,
)
from .provenance import (
    COLUMNS_UNSEEN as COLUMNS_UNSEEN,
    DTYPES_DECLARED as DTYPES_DECLARED,
    LABELS_PUBLIC as LABELS_PUBLIC,
    table_assumptions as table_assumptions,
)
from .schema import Schema as Schema, column_structure as column_structure
from .tables import read_table as read_table, table_text as table_text, write_table as write_table
from .target import Label as Label, plain_label as plain_label
