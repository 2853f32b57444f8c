from .event import AuditResult as AuditResult
from .suite import audit_cases as audit_cases
from .suite import audit_text as audit_text
from .suite import run_audit as run_audit
