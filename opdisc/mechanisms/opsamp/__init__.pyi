from .mechanism import OPSampMechanism as OPSampMechanism
from .public import OPSampSpec as OPSampSpec
from .run import OPSampRelease as OPSampRelease, run_opsamp as run_opsamp
