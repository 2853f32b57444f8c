from .arrays import (
    BoolArray as BoolArray,
    FloatArray as FloatArray,
    IntArray as IntArray,
    Objective as Objective,
    frozen as frozen,
)
from .child_process import (
    ChildEnded as ChildEnded,
    ChildProcess as ChildProcess,
    ParentConnection as ParentConnection,
    die_with_parent as die_with_parent,
    module_command as module_command,
    module_environment as module_environment,
)
from .compilation import (
    code_on_disk as code_on_disk,
    compiled as compiled,
    compiled_apart as compiled_apart,
    compiled_entry as compiled_entry,
    compiled_in_place as compiled_in_place,
    copy_into as copy_into,
)
from .compile_watch import (
    compiling as compiling,
    is_watched as is_watched,
    watch_compiling as watch_compiling,
)
from .random_bits import (
    EntropySource as EntropySource,
    RandomBits as RandomBits,
    exponential_enclosure as exponential_enclosure,
)
from .threads import products_on_one_thread as products_on_one_thread
