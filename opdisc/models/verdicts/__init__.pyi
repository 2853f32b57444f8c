from .noise import (
    LARGE_SHARE as LARGE_SHARE,
    NoBound as NoBound,
    Noise as Noise,
    NoiseVerdict as NoiseVerdict,
    TiltVerdict as TiltVerdict,
    drowns as drowns,
    noise_record as noise_record,
    read_noise as read_noise,
)
from .verdict import (
    ClassesVerdict as ClassesVerdict,
    Verdict as Verdict,
    is_constant as is_constant,
    judge_card as judge_card,
    judge_cards as judge_cards,
)
