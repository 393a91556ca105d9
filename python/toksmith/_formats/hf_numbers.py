"""The numbers of a `tokenizer.json` as HF's reader rounds them.

It takes the digits as one integer, leaves out those that do not fit into 64 bits, makes that a float, and multiplies or divides
it by a power of ten. So of a number with 16 digits or more it often returns a neighbour of the nearest float. Here numbers
are read so too, and written so that this reader returns them.
"""

from __future__ import annotations

import math
import re

__all__ = ["read_number", "spell_number"]

NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
MOST = (1 << 64) - 1
CERTAIN = 19  # any number of 19 digits fits into 64 bits
FLOAT_BITS = 53
FARTHEST = (1 << 31) - 1
HIGHEST_POWER = 308
POWERS = [float(f"1e{power}") for power in range(HIGHEST_POWER + 1)]


def read_number(digits: str) -> float:
    """The float that HF's reader makes of a number.

    >>> read_number("-9.638257635936423"), read_number("0.25"), read_number("1e2")
    (-9.638257635936425, 0.25, 100.0)
    """
    found = NUMBER.fullmatch(digits)
    if found is None:
        raise ValueError(f"{digits[:40]} is not a number")
    sign, whole, fraction, exponent = found.groups(default="")
    if len(whole) + len(fraction) <= CERTAIN:
        value, power = int(whole + fraction), -len(fraction)
    else:
        value, power = first_digits(whole, fraction)
    if exponent:
        # This limit is far beyond every exponent that matters, and `int` refuses very long texts.
        far = exponent.lstrip("+-").lstrip("0")
        shift = min(int(far or 0), FARTHEST) if len(far) < 11 else FARTHEST
        power = max(power - shift, -FARTHEST) if exponent[0] == "-" else min(power + shift, FARTHEST)
    size = scale_by_power(float(value), power)
    if math.isinf(size):
        raise ValueError(f"the number {digits[:40]} is too large")
    return -size if sign else size


def first_digits(whole: str, fraction: str) -> tuple[int, int]:
    """As many digits as 64 bits hold, and the power of ten that they are to be multiplied by."""
    value, power = 0, 0
    for place, digit in enumerate(whole):
        if value * 10 + int(digit) > MOST:
            power = len(whole) - place
            break
        value = value * 10 + int(digit)
    for digit in fraction:
        if value * 10 + int(digit) > MOST:
            break
        value, power = value * 10 + int(digit), power - 1
    return value, power


def scale_by_power(value: float, power: int) -> float:
    """The value times a power of ten, rounded at each step."""
    while power < -HIGHEST_POWER and value:
        value, power = value / POWERS[-1], power + HIGHEST_POWER
    if not value:
        return value
    if power > HIGHEST_POWER:
        return math.inf
    return value * POWERS[power] if power >= 0 else value / POWERS[-power]


def spell_number(value: float) -> str:
    """A number that HF's reader returns as this float. About one float in 1000 has none: the usual number is a neighbour there.

    >>> spell_number(-9.638257635936425), spell_number(-9.638257635936423)
    ('-9.638257635936425', '-963825763593642240e-17')
    """
    usual = repr(value)
    if read_number(usual) == value:
        return usual
    over, under = abs(value).as_integer_ratio()
    for digits in range(CERTAIN + 1, 0, -1):
        power = digits - 1 - math.floor(math.log10(abs(value)))
        whole = over * 10**power // under if power >= 0 else over // (under * 10**-power)
        for given in around(whole):
            spelt = f"{'-' if value < 0 else ''}{given}e{-power}"
            if given <= MOST and read_number(spelt) == value:
                return spelt
    return usual


def around(whole: int) -> list[int]:
    """The integers near this one that are different floats."""
    step = 1 << max(whole.bit_length() - FLOAT_BITS, 0)
    first = whole - whole % step
    return [first + place * step for place in (0, 1, -1, 2, -2) if first + place * step > 0]
