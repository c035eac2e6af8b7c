"""Constants."""

from math import e as e, inf as inf, nan as nan, pi as pi

newaxis = None
