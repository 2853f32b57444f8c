from .command import schema as schema
