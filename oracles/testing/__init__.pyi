from .conformance import check_oracle as check_oracle
