from .listing import EnumerationOracle as EnumerationOracle, all_losses as all_losses
from .table_oracle import TabularOracle as TabularOracle
