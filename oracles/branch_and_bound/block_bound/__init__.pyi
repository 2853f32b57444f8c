from .race import BlockBoundUse as BlockBoundUse
from .race import Race as Race
from .tree import BlockTree as BlockTree
