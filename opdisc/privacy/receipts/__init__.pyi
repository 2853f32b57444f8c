from .cards_receipt import MulticlassReceipt as MulticlassReceipt
from .grid_receipt import (
    BELOW as BELOW,
    GridReceipt as GridReceipt,
    RiskReceipt as RiskReceipt,
    RowGuess as RowGuess,
    StatedCosts as StatedCosts,
    planned_with as planned_with,
    receipt_costs as receipt_costs,
)
from .questions import (
    STRATEGIES as STRATEGIES,
    TREE as TREE,
    Question as Question,
    ask as ask,
    card_that_tells as card_that_tells,
    preferences as preferences,
    way_to as way_to,
)
from .real_receipts import (
    FLOATING_POINT as FLOATING_POINT,
    FRANK_WOLFE as FRANK_WOLFE,
    HULL as HULL,
    ConvexReceipt as ConvexReceipt,
    OPSampReceipt as OPSampReceipt,
)
from .receipt import (
    CertifiedReceipt as CertifiedReceipt,
    Lines as Lines,
    PrivacyReceipt as PrivacyReceipt,
    UnitRows as UnitRows,
    common_fields as common_fields,
    power_of_two as power_of_two,
)
