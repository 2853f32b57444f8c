from .base_measure import BaseMeasure as BaseMeasure
from .mechanism import (
    ExponentialMechanism as ExponentialMechanism,
    ExponentialSpec as ExponentialSpec,
)
