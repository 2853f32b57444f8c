from .linear_file import SavedLinearModel as SavedLinearModel, column_names as column_names
from .loading import load_model as load_model, save_model as save_model
from .risk_rates import fitted_risks as fitted_risks
from .risk_table import RiskRow as RiskRow, RiskTable as RiskTable
from .scorecard import Scorecard as Scorecard
from .scorecard_file import SavedModel as SavedModel
