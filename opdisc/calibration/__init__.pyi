from .gaussian import (
    SampledSteps as SampledSteps,
    gaussian_delta as gaussian_delta,
    gaussian_multiplier as gaussian_multiplier,
    require_delta as require_delta,
    sampled_multiplier as sampled_multiplier,
)
from .margins import (
    block_decay_rates as block_decay_rates,
    continuous_margin as continuous_margin,
    gaussian_stddev as gaussian_stddev,
    harmonic_number as harmonic_number,
    inverse_temperature as inverse_temperature,
    l2_laplace_scale as l2_laplace_scale,
    lattice_margin as lattice_margin,
    published_gaussian_stddev as published_gaussian_stddev,
    separator_decay_rate as separator_decay_rate,
    sphere_shift as sphere_shift,
)
from .separators import (
    published_separator_stddev as published_separator_stddev,
    require_gaussian_delta as require_gaussian_delta,
    separator_gaussian_stddev as separator_gaussian_stddev,
    separator_quantile as separator_quantile,
    thermometer_shift_size as thermometer_shift_size,
    thermometer_size as thermometer_size,
)
