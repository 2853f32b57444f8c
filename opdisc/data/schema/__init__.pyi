from .categories import BinaryFeature as BinaryFeature, CategoryFeature as CategoryFeature
from .checks import (
    BLANK as BLANK,
    check_keys as check_keys,
    close_name as close_name,
    did_you_mean as did_you_mean,
)
from .columns import exclusive_positions as exclusive_positions
from .draft import (
    check_column as check_column,
    draft_schema as draft_schema,
    is_usable as is_usable,
    toml_text as toml_text,
)
from .features import (
    Feature as Feature,
    NumberFeature as NumberFeature,
    ThresholdFeature as ThresholdFeature,
    features_from_dict as features_from_dict,
)
from .limits import PointLimits as PointLimits
from .pilot import PilotDraft as PilotDraft, pilot_draft as pilot_draft
from .quantiles import QuantileFeature as QuantileFeature
from .rarity import constant_remedy as constant_remedy, rare_outcome_text as rare_outcome_text
from .schema import Schema as Schema, column_structure as column_structure
from .target import (
    ANY_OTHER as ANY_OTHER,
    Label as Label,
    MulticlassTarget as MulticlassTarget,
    Target as Target,
    make_target as make_target,
    plain_label as plain_label,
    target_from_dict as target_from_dict,
    two_labels as two_labels,
)
