from .mechanism import OPSampMechanism as OPSampMechanism
from .public import OPSampSpec as OPSampSpec
from .receipt import OPSampReceipt as OPSampReceipt
from .run import OPSampRelease as OPSampRelease, run_opsamp as run_opsamp
