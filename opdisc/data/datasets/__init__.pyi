from .schemas import load_schema as load_schema
