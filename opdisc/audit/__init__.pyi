from .attacks import attack_cases as attack_cases
from .case import AuditCase as AuditCase, AuditResult as AuditResult
from .suite import audit_cases as audit_cases, audit_text as audit_text, run_audit as run_audit
