from .entropy import (
    EntropySource as EntropySource,
    SeededEntropy as SeededEntropy,
    SystemEntropy as SystemEntropy,
    parse_entropy as parse_entropy,
)
from .guarantee import (
    CalibrationStatus as CalibrationStatus,
    Guarantee as Guarantee,
    WeakPromise as WeakPromise,
    delta_conditions as delta_conditions,
    warn_of_weak_promise as warn_of_weak_promise,
    weak_promise_text as weak_promise_text,
)
from .ledger import Expense as Expense, Ledger as Ledger
from .ledger_lines import Book as Book, Header as Header
from .params import (
    NeighboringRelation as NeighboringRelation,
    PrivacyParams as PrivacyParams,
    parse_relation as parse_relation,
    stated_rows as stated_rows,
    unit_in_words as unit_in_words,
)
from .prepared import (
    Prepared as Prepared,
    PreparedFirst as PreparedFirst,
    prepared_first as prepared_first,
    told_of_spending as told_of_spending,
)
from .public import (
    MOST_ROWS_GUESSED as MOST_ROWS_GUESSED,
    GridPublic as GridPublic,
    PublicInputs as PublicInputs,
)
from .reasons import Reason as Reason, count_in_words as count_in_words
from .receipts.cards_receipt import MulticlassReceipt as MulticlassReceipt
from .receipts.grid_receipt import (
    BELOW as BELOW,
    GridReceipt as GridReceipt,
    RiskReceipt as RiskReceipt,
    RowGuess as RowGuess,
    Stage as Stage,
    StatedCosts as StatedCosts,
    planned_with as planned_with,
    receipt_costs as receipt_costs,
)
from .receipts.questions import (
    STRATEGIES as STRATEGIES,
    TREE as TREE,
    Question as Question,
    ask as ask,
    card_that_tells as card_that_tells,
    preferences as preferences,
    way_to as way_to,
)
from .receipts.real_receipts import (
    FLOATING_POINT as FLOATING_POINT,
    FRANK_WOLFE as FRANK_WOLFE,
    HULL as HULL,
    ConvexReceipt as ConvexReceipt,
    OPSampReceipt as OPSampReceipt,
)
from .receipts.receipt import (
    CertifiedReceipt as CertifiedReceipt,
    Lines as Lines,
    PrivacyReceipt as PrivacyReceipt,
    UnitRows as UnitRows,
    common_fields as common_fields,
    power_of_two as power_of_two,
)
from .records import Amount as Amount, Count as Count, Record as Record
from .spending import Spending as Spending, Spent as Spent
from .statements import (
    Statement as Statement,
    all_statements as all_statements,
    find_statements as find_statements,
)
