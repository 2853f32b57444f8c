from .linear_file import SavedLinearModel as SavedLinearModel, column_names as column_names
from .loading import load_model as load_model, save_model as save_model
from .scorecard import Scorecard as Scorecard
from .scorecard_file import SavedModel as SavedModel
from .verdict import Verdict as Verdict, judge_card as judge_card
