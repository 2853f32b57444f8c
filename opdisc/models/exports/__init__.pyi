from .onnx_graph import card_onnx as card_onnx
from .pmml import card_pmml as card_pmml
from .python_code import card_python as card_python
from .questionnaire import card_fhir as card_fhir
from .registry import card_registry as card_registry
from .sql import card_sql as card_sql
from .sql_text import card_sql_text as card_sql_text
from .workbook import card_workbook as card_workbook
