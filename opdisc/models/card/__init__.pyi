from .characteristics import (
    NO_XML as NO_XML,
    AtLeast as AtLeast,
    Characteristic as Characteristic,
    Column as Column,
    OneOf as OneOf,
    Statement as Statement,
    card_characteristics as card_characteristics,
    card_columns as card_columns,
    is_number_text as is_number_text,
    single_card as single_card,
    spelled as spelled,
)
from .content import Card as Card, card_content as card_content
from .explanation import (
    ClassExplanation as ClassExplanation,
    Explanation as Explanation,
    Row as Row,
    explain_class as explain_class,
    explain_row as explain_row,
)
from .markdown import card_markdown as card_markdown, prose as prose
from .outputs import (
    MOST_REASONS as MOST_REASONS,
    PREDICTION as PREDICTION,
    OutputNames as OutputNames,
    check_reasons as check_reasons,
    free_prediction as free_prediction,
    output_columns as output_columns,
    output_names as output_names,
)
from .page import card_fragment as card_fragment, card_page as card_page
from .picture import card_picture as card_picture
from .source import (
    CardSource as CardSource,
    CardsSource as CardsSource,
    plain as plain,
    used_features as used_features,
)
