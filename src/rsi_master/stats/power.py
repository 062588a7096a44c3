"""How small a difference a paired comparison of given size can show."""

import math
from statistics import NormalDist


def detectable_difference(
    n: float, discordance: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest true difference that McNemar's test on `n` items finds with `power`.

    The items stand alone; of items that hang together `n` is what they are worth
    (`Difference.effective`). `discordance` is the expected share of items on which the two differ.
    Connor (1987, Biometrics 43:207-211): n = (z_a sqrt(d) + z_b sqrt(d - x**2))**2 / x**2, solved
    for x. None when even x = discordance, all changes in one direction, would be missed.
    """
    if n < 1 or not 0 < discordance <= 1:
        raise ValueError(f"detectable_difference: n = {n}, discordance = {discordance}")
    z_alpha = NormalDist().inv_cdf(1 - alpha / 2)
    z_beta = NormalDist().inv_cdf(power)
    # (sqrt(n) x - a)**2 = z_b**2 (d - x**2) with a = z_a sqrt(d): a quadratic in x.
    a = z_alpha * math.sqrt(discordance)
    square = n + z_beta**2
    constant = a**2 - z_beta**2 * discordance
    discriminant = n * a**2 - square * constant
    if discriminant < 0:  # fewer than z_alpha**2 items show nothing
        return None
    found = (math.sqrt(n) * a + math.sqrt(discriminant)) / square
    return found if found <= discordance else None
