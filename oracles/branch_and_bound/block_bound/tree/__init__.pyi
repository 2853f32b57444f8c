from .nodes import widened as widened
from .root import is_plain as is_plain, root_blocks as root_blocks
from .search import BlockTree as BlockTree, compile_kernels as compile_kernels
