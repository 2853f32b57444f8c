from .receipt import SelectionReceipt as SelectionReceipt
from .trials import private_selection as private_selection
