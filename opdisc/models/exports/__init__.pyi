from .pmml import card_pmml as card_pmml
