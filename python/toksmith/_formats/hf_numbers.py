"""Reads and writes the numbers of a `tokenizer.json` with the rounding of HF's reader.

HF's reader takes the digits as one integer, drops digits that do not fit into 64 bits, converts the integer to a float, and
multiplies or divides it by a power of ten. For a number of 16 digits or more it often returns a neighbour of the nearest
float. `read_number` rounds in the same way, and `spell_number` writes digits that HF's reader turns into the exact float.
"""

from __future__ import annotations

import math
import re

NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
MOST = (1 << 64) - 1
CERTAIN = 19  # any number of 19 digits fits into 64 bits
FLOAT_BITS = 53
FARTHEST = (1 << 31) - 1
HIGHEST_POWER = 308
POWERS = [float(f"1e{power}") for power in range(HIGHEST_POWER + 1)]


def read_number(digits: str) -> float:
    """The float that HF's reader returns for a number.

    >>> read_number("-9.638257635936423"), read_number("0.25"), read_number("1e2")
    (-9.638257635936425, 0.25, 100.0)
    """
    match = NUMBER.fullmatch(digits)
    if match is None:
        raise ValueError(f"{digits[:40]} is not a number")
    sign, whole, fraction, exponent = match.groups(default="")
    if len(whole) + len(fraction) <= CERTAIN:
        value, power = int(whole + fraction), -len(fraction)
    else:
        value, power = first_digits(whole, fraction)
    if exponent:
        # No exponent beyond this limit changes the result, and `int` refuses very long texts.
        exponent_digits = exponent.lstrip("+-").lstrip("0")
        shift = min(int(exponent_digits or 0), FARTHEST) if len(exponent_digits) < 11 else FARTHEST
        power = max(power - shift, -FARTHEST) if exponent[0] == "-" else min(power + shift, FARTHEST)
    size = scale_by_power(float(value), power)
    if math.isinf(size):
        raise ValueError(f"the number {digits[:40]} is too large")
    return -size if sign else size


def first_digits(whole: str, fraction: str) -> tuple[int, int]:
    """The leading digits that fit into 64 bits, as an integer, and the power of ten to multiply it by."""
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
    """Digits that HF's reader turns into this float. For about one float in 1000 none exist, and it returns `repr(value)`.

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
        for digits_value in nearby_integers(whole):
            spelt = f"{'-' if value < 0 else ''}{digits_value}e{-power}"
            if digits_value <= MOST and read_number(spelt) == value:
                return spelt
    return usual


def nearby_integers(whole: int) -> list[int]:
    """The nearest integers that are different floats, closest first."""
    step = 1 << max(whole.bit_length() - FLOAT_BITS, 0)
    first = whole - whole % step
    return [first + place * step for place in (0, 1, -1, 2, -2) if first + place * step > 0]
