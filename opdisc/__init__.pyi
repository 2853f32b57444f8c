__version__: str
from .data.counting.row_counts import RowCounts as RowCounts
from .data.counting.sources import count_rows as count_rows
from .data.datasets.loading import load_dataset as load_dataset
from .data.datasets.schemas import load_schema as load_schema
from .data.findings import TableFindings as TableFindings, check_table as check_table
from .data.reading.libsvm_file import read_libsvm as read_libsvm
from .data.reading.tables import read_table as read_table
from .data.schema.schema import Schema as Schema
from .estimators.linear import (
    PrivateLinearSVC as PrivateLinearSVC,
    PrivateLogisticRegression as PrivateLogisticRegression,
)
from .estimators.opsamp import OPSampClassifier as OPSampClassifier
from .estimators.opsamp_regressor import (
    OPSampRegressor as OPSampRegressor,
    private_median as private_median,
)
from .estimators.scorecards.multiclass import (
    PrivateMulticlassClassifier as PrivateMulticlassClassifier,
)
from .estimators.scorecards.named import (
    OPDiscClassifier as OPDiscClassifier,
    PermuteAndFlipClassifier as PermuteAndFlipClassifier,
    RSPMClassifier as RSPMClassifier,
)
from .estimators.scorecards.private import PrivateScorecardClassifier as PrivateScorecardClassifier
from .estimators.scorecards.robust_vote import RobustVoteClassifier as RobustVoteClassifier
from .estimators.search import PrivateSearchCV as PrivateSearchCV
from .estimators.simplex import PrivateSimplexRegressor as PrivateSimplexRegressor
from .mechanisms.base import Release as Release
from .mechanisms.composition.validation import validate_card as validate_card
from .mechanisms.run import run_mechanism as run_mechanism
from .mechanisms.selection.trials import private_selection as private_selection
from .models.linear_file import SavedLinearModel as SavedLinearModel
from .models.loading import load_model as load_model, save_model as save_model
from .models.scorecard import Scorecard as Scorecard
from .models.scorecard_file import SavedModel as SavedModel
from .models.validation.report import ValidationReport as ValidationReport
from .planning.utility import (
    ErrorPrediction as ErrorPrediction,
    plan_errors as plan_errors,
    predict_error as predict_error,
)
from .privacy.ledger import Ledger as Ledger
from .privacy.params import (
    NeighboringRelation as NeighboringRelation,
    PrivacyParams as PrivacyParams,
)
from .privacy.public import GridPublic as GridPublic, PublicInputs as PublicInputs
from .privacy.receipts.receipt import PrivacyReceipt as PrivacyReceipt
