"""Sizes and durations are said in few words, and rounding never shows 1,000 of a unit."""

from __future__ import annotations

import pytest

from patcache.quantities import bytes_text, p_text, rate_text, seconds_text


@pytest.mark.parametrize(
    ("n_bytes", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (7_897_344, "7.9 MB"),
        (9_960_000, "10 MB"),
        (999_600, "1.0 MB"),
        (43_700_000_000, "44 GB"),
        (2e18, "2000 PB"),
    ],
)
def test_sizes(n_bytes: float, said: str) -> None:
    assert bytes_text(n_bytes) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.7, "1 min"),
        (160, "2 min 40 s"),
        (3600, "1 h"),
        (11_109, "3 h 5 min"),
        (90_000, "1 day 1 h"),
        (12.9 * 86_400, "12 days 21 h"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert seconds_text(seconds) == said


@pytest.mark.parametrize(
    ("per_second", "said"),
    [(0.03123, "0.0312"), (36.14, "36.1"), (99.94, "99.9"), (99.95, "100"), (9519.9, "9,520")],
)
def test_rates_have_three_digits_or_all_before_the_point(per_second: float, said: str) -> None:
    assert rate_text(per_second) == said


def test_pvalues_are_short_and_never_nought() -> None:
    values = (0.0, 0.00099, 0.001, 0.0321, 0.9994, 0.9996, 1.0)
    assert [p_text(p) for p in values] == ["<.001", "<.001", ".001", ".032", ".999", "1.0", "1.0"]
