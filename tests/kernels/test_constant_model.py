"""A model that knows nothing: at the level of chance in the mean, whatever ties it makes."""

from __future__ import annotations

import numpy as np

from patcache.kernels.axis import common_axis
from patcache.kernels.bootstrap import mean_spread, power_sums
from patcache.kernels.effects import means
from patcache.kernels.footrule import chance, max_distance, score, units_per_rank
from patcache.kernels.paired import permutation_test
from patcache.kernels.utest import u_test
from patcache.records import Shape

STUDY = Shape((1, 2, 3, 4, 5, 6))
LARGEST = units_per_rank(6) * max_distance(STUDY)
N_TUPLES = 1_000


def test_a_constant_model_is_at_chance_in_every_tuple_and_a_random_one_in_the_mean() -> None:
    random = np.random.default_rng(1).random((N_TUPLES, 6), dtype=np.float32)
    constant = np.full((N_TUPLES, 6), 0.7, dtype=np.float32)
    assert set((1 - score(constant, STUDY).footrule / LARGEST).tolist()) == {float(chance(STUDY))}
    rci = 1 - score(random, STUDY).footrule / LARGEST
    assert abs(rci.mean() - float(chance(STUDY))) < 3 * rci.std() / np.sqrt(N_TUPLES)


def test_its_mean_is_no_different_from_a_random_models() -> None:
    rng = np.random.default_rng(2)
    random = score(rng.random((N_TUPLES, 6), dtype=np.float32), STUDY).footrule
    constant = score(np.zeros((N_TUPLES, 6), dtype=np.float32), STUDY).footrule
    magnitudes, index = np.unique(np.abs(constant - random), return_inverse=True)
    positive = np.bincount(index[random > constant], minlength=len(magnitudes))
    negative = np.bincount(index[random < constant], minlength=len(magnitudes))
    test = permutation_test(positive, negative, 0, magnitudes / LARGEST, rng)
    assert test.two_sided > 0.05
    counts = np.bincount(np.searchsorted(np.unique(random), random))
    low, high = mean_spread(power_sums(counts[None], 1 - np.unique(random) / LARGEST)).interval()
    assert low < float(chance(STUDY)) < high


def test_u_compares_order_not_means_and_a_random_models_distances_are_skewed() -> None:
    # Of the 720 orders of 6, 420 have a distance of 12 or more and 300 of 10 or less, but the
    # mean is 11 2/3: a model that always has the mean is ahead in 420 / 720 of the tuples. So U
    # prefers it to a random one while the means are equal, and the views say so beside it.
    orders = np.array([p for p in np.ndindex(*[6] * 6) if len(set(p)) == 6], dtype=float)
    random = score(orders, STUDY).footrule
    axis = common_axis(LARGEST - np.append(random, 700), np.full(721, LARGEST))
    counts = np.stack(
        [
            np.bincount(axis.position[:720], minlength=len(axis.values)),
            np.bincount(axis.position[720:], minlength=len(axis.values)) * 720,
        ]
    )
    found = u_test(counts[1], counts[0])
    assert found.u.item() / 720**2 == 420 / 720
    assert found.pvalue.item() < 1e-6
    assert abs(np.subtract(*means(counts, axis.values))) < 1e-15
