from .columns import exclusive_positions as exclusive_positions
from .features import (
    BinaryFeature as BinaryFeature,
    CategoryFeature as CategoryFeature,
    Feature as Feature,
    ThresholdFeature as ThresholdFeature,
)
from .schema import Schema as Schema, column_structure as column_structure
from .target import (
    Label as Label,
    MulticlassTarget as MulticlassTarget,
    Target as Target,
    make_target as make_target,
    plain_label as plain_label,
)
