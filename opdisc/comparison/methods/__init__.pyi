from .method import ComparisonError as ComparisonError
from .method import Fitted as Fitted
from .method import Method as Method
from .method import Task as Task
from .method import find_method as find_method
from .method import registry as registry
