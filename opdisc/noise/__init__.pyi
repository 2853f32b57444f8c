from .excess import (
    ExcessBound as ExcessBound,
    Simulation as Simulation,
    excess_of_draw as excess_of_draw,
    held_in_double as held_in_double,
)
from .lattice import (
    MOST_NOISE as MOST_NOISE,
    check_noise_fits as check_noise_fits,
    discrete_laplace as discrete_laplace,
    gaussian_vector as gaussian_vector,
    geometric as geometric,
    geometric_total_variation as geometric_total_variation,
    l2_laplace_vector as l2_laplace_vector,
    largest_geometric as largest_geometric,
    sphere_total_variation as sphere_total_variation,
)
from .real import (
    NormalStream as NormalStream,
    categorical as categorical,
    fixed_sample as fixed_sample,
    integers as integers,
    l2_laplace as l2_laplace,
    normals as normals,
    poisson_sample as poisson_sample,
    uniforms as uniforms,
)
from .search import smallest_noise as smallest_noise
