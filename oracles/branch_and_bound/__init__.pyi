from .block_bound import BlockInequality as BlockInequality, prove_root as prove_root
from .local_search import columns_of as columns_of, new_walk as new_walk, walk_on as walk_on
from .oracle import BranchAndBoundOracle as BranchAndBoundOracle
from .reduction import reduce_problem as reduce_problem
from .warm_up import compile_search as compile_search
