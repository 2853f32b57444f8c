from .card import (
    ClassExplanation as ClassExplanation,
    Explanation as Explanation,
    Row as Row,
    card_fragment as card_fragment,
    card_markdown as card_markdown,
    card_page as card_page,
    card_picture as card_picture,
    card_pmml as card_pmml,
    card_python as card_python,
    card_sql as card_sql,
)
from .linear_file import SavedLinearModel as SavedLinearModel, column_names as column_names
from .loading import load_model as load_model, save_model as save_model
from .multiclass_file import (
    SavedMulticlassModel as SavedMulticlassModel,
    card_classes as card_classes,
)
from .odds import (
    LARGEST_POINTS as LARGEST_POINTS,
    ChosenScale as ChosenScale,
    OddsScale as OddsScale,
    ScaleLike as ScaleLike,
    parse_scale as parse_scale,
    points_of as points_of,
)
from .risk_rates import fitted_risks as fitted_risks
from .risk_table import RiskRow as RiskRow, RiskTable as RiskTable
from .scorecard import Scorecard as Scorecard, used_columns as used_columns
from .scorecard_file import SavedModel as SavedModel
from .start import (
    CONSTANT as CONSTANT,
    Pilot as Pilot,
    Prior as Prior,
    start_from as start_from,
    whole_points as whole_points,
)
from .validation import (
    CountedGroup as CountedGroup,
    Figure as Figure,
    GroupRate as GroupRate,
    Shift as Shift,
    ValidationReceipt as ValidationReceipt,
    ValidationReport as ValidationReport,
    calibrate_validation as calibrate_validation,
    load_report as load_report,
    reach as reach,
    report_json as report_json,
    report_text as report_text,
    save_report as save_report,
    shift_between as shift_between,
    validate_card as validate_card,
)
from .verdict import (
    ClassesVerdict as ClassesVerdict,
    Verdict as Verdict,
    judge_card as judge_card,
    judge_cards as judge_cards,
)
