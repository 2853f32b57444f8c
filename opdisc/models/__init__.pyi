from .card import (
    MOST_REASONS as MOST_REASONS,
    ClassExplanation as ClassExplanation,
    Explanation as Explanation,
    Row as Row,
    card_fragment as card_fragment,
    card_markdown as card_markdown,
    card_page as card_page,
    card_picture as card_picture,
)
from .exports import (
    card_fhir as card_fhir,
    card_onnx as card_onnx,
    card_pmml as card_pmml,
    card_python as card_python,
    card_registry as card_registry,
    card_sql as card_sql,
    card_sql_text as card_sql_text,
    card_workbook as card_workbook,
)
from .linear_file import SavedLinearModel as SavedLinearModel, column_names as column_names
from .loading import (
    FittedEstimator as FittedEstimator,
    load_model as load_model,
    read_object as read_object,
    save_model as save_model,
)
from .multiclass_file import (
    SavedMulticlassModel as SavedMulticlassModel,
    card_classes as card_classes,
)
from .noise_verdict import (
    LARGE_SHARE as LARGE_SHARE,
    NoBound as NoBound,
    Noise as Noise,
    NoiseVerdict as NoiseVerdict,
    TiltVerdict as TiltVerdict,
    drowns as drowns,
)
from .odds import (
    LARGEST_POINTS as LARGEST_POINTS,
    ChosenScale as ChosenScale,
    OddsScale as OddsScale,
    ScaleLike as ScaleLike,
    parse_scale as parse_scale,
    points_of as points_of,
    within_limits as within_limits,
)
from .risk_table import RiskRow as RiskRow, RiskTable as RiskTable, fitted_risks as fitted_risks
from .scorecard import Scorecard as Scorecard, used_columns as used_columns
from .scorecard_file import SavedModel as SavedModel
from .totals import (
    Bins as Bins,
    bin_totals as bin_totals,
    count_by_bin as count_by_bin,
    possible_totals as possible_totals,
)
from .validation import (
    CountedGroup as CountedGroup,
    Figure as Figure,
    GroupRate as GroupRate,
    Shift as Shift,
    ValidationReceipt as ValidationReceipt,
    ValidationReport as ValidationReport,
    load_report as load_report,
    reach as reach,
    report_json as report_json,
    report_text as report_text,
    save_report as save_report,
    shift_between as shift_between,
)
from .verdict import (
    ClassesVerdict as ClassesVerdict,
    Verdict as Verdict,
    judge_card as judge_card,
    judge_cards as judge_cards,
)
