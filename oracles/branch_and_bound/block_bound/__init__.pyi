from .race import BlockBoundUse as BlockBoundUse, Race as Race
from .tree import BlockTree as BlockTree, compile_kernels as compile_kernels
