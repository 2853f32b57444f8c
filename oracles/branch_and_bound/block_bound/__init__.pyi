from .inequalities import BlockInequality as BlockInequality, prove_root as prove_root
from .race import BlockBoundUse as BlockBoundUse, Race as Race
from .tree_search import BlockTree as BlockTree, compile_kernels as compile_kernels
