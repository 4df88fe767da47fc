"""Bytes, seconds, rates and p-values as people say them."""

from __future__ import annotations

SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")
MINUTE, HOUR, DAY = 60, 3600, 86_400


def bytes_text(n_bytes: float) -> str:
    """A size in decimal units: "812 bytes", "7.9 MB", "43 GB"."""
    size, unit = float(n_bytes), 0
    while size >= 999.5 and unit < len(SIZES) - 1:
        size, unit = size / 1000, unit + 1
    digits = 1 if unit and size < 9.95 else 0
    return f"{size:.{digits}f} {SIZES[unit]}"


def seconds_text(seconds: float) -> str:
    """A duration in its two largest units: "0.4 s", "2 min 40 s", "3 h 5 min", "12 days 3 h"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _two(whole, MINUTE, "min", 1, "s")
    if whole < DAY:
        return _two(whole, HOUR, "h", MINUTE, "min")
    return _two(whole, DAY, "day" if whole < 2 * DAY else "days", HOUR, "h")


def rate_text(per_second: float) -> str:
    """A rate with three digits, or all before the point: "0.0312", "36.1", "9,520"."""
    return f"{per_second:,.0f}" if per_second >= 99.95 else f"{per_second:.3g}"


def p_text(p: float) -> str:
    """A p-value as short as it can be: "<.001", ".032", "1.0"."""
    return "<.001" if p < 0.001 else "1.0" if p > 0.9995 else f"{p:.3f}".removeprefix("0")


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {large_name}" + (f" {rest} {small_name}" if rest else "")
