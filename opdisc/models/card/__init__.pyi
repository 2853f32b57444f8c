from .content import Card as Card, card_content as card_content
from .explanation import (
    ClassExplanation as ClassExplanation,
    Explanation as Explanation,
    Row as Row,
    explain_class as explain_class,
    explain_row as explain_row,
)
from .markdown import card_markdown as card_markdown
from .page import card_fragment as card_fragment, card_page as card_page
from .picture import card_picture as card_picture
from .pmml import card_pmml as card_pmml
from .python_code import card_python as card_python
from .source import CardSource as CardSource, CardsSource as CardsSource
from .sql import card_sql as card_sql
