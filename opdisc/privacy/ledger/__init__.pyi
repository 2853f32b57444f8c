from .ledger import Expense as Expense, Ledger as Ledger, LedgerCreated as LedgerCreated
