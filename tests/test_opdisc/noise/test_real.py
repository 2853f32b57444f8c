"""Laws of the draws."""

import numpy as np
import pytest
from scipy import stats

from opdisc.noise.real import (
    NormalStream,
    categorical,
    fixed_sample,
    integers,
    l2_laplace,
    normals,
    poisson_sample,
    uniforms,
)
from opdisc.privacy.entropy import SeededEntropy


@pytest.mark.statistical
def test_draws_have_their_laws():
    """Kolmogorov-Smirnov and chi-square, 1e-6 each, fixed seed."""
    entropy = SeededEntropy(4)
    assert stats.kstest(uniforms(20_000, entropy), "uniform").pvalue > 1e-6
    assert stats.kstest(normals(20_001, entropy), "norm").pvalue > 1e-6
    stream = NormalStream(entropy)
    taken = np.concatenate([stream.take(k) for k in (1, 5000, 3, 9000)])
    assert stats.kstest(taken, "norm").pvalue > 1e-6
    lengths = [np.linalg.norm(l2_laplace(3, 2.0, entropy)) for _ in range(5000)]
    assert stats.kstest(lengths, stats.gamma(3, scale=2.0).cdf).pvalue > 1e-6
    for drawn in (
        integers(7, 20_000, entropy),
        categorical(np.full(7, 1 / 7), 20_000, entropy),
        integers(7 * 2**40, 20_000, entropy) // 2**40,
        np.concatenate([fixed_sample(7, 2, entropy) for _ in range(5000)]),
        np.concatenate([fixed_sample(7, 5, entropy) for _ in range(5000)]),
    ):
        assert stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > 1e-6
    # The last rate is decided by ties in the first byte alone.
    for rate in (0.03, 0.25, 0.9, 1 / 512):
        drawn = [poisson_sample(1000, rate, entropy) for _ in range(500)]
        assert stats.binomtest(sum(map(len, drawn)), 500_000, rate).pvalue > 1e-6
        places = np.bincount(np.concatenate(drawn) // 100, minlength=10)
        assert stats.chisquare(places).pvalue > 1e-6
    pairs = np.array([fixed_sample(5, 2, entropy) for _ in range(8000)])
    sets = np.bincount(5 * pairs.min(axis=1) + pairs.max(axis=1))
    assert stats.chisquare(sets[sets > 0]).pvalue > 1e-6 and np.count_nonzero(sets) == 10


def test_samples_hold_distinct_rows():
    entropy = SeededEntropy(5)
    for _ in range(50):
        drawn = fixed_sample(9, 4, entropy)
        assert len(set(drawn.tolist())) == 4 and drawn.max() < 9
    np.testing.assert_array_equal(poisson_sample(5, 1.0, entropy), np.arange(5))
    np.testing.assert_array_equal(fixed_sample(5, 5, entropy), np.arange(5))
