from .base_measure import (
    BaseMeasure as BaseMeasure,
    Mixture as Mixture,
)
from .mechanism import (
    ExponentialMechanism as ExponentialMechanism,
    ExponentialSpec as ExponentialSpec,
)
