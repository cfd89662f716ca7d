"""Two samples: whether their means differ by more than chance (Welch's test), corrected for many questions."""

import math


def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 300):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d, c = 1.0 / (d if abs(d) > tiny else tiny), (c if abs(c) > tiny else tiny)
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value


def incomplete_beta(a, b, x):
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def welch(a, b):
    """The two-sided p-value."""
    def moments(sample):
        mean = sum(sample) / len(sample)
        return mean, sum((one - mean) ** 2 for one in sample) / (len(sample) - 1) / len(sample)
    (mean_a, error_a), (mean_b, error_b) = moments(a), moments(b)
    t = (mean_a - mean_b) / math.sqrt(error_a + error_b)
    freedom = (error_a + error_b) ** 2 / (error_a**2 / (len(a) - 1) + error_b**2 / (len(b) - 1))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def discoveries(p_values, rate):
    """Which of them count at this rate of false discoveries (Benjamini and Hochberg)."""
    order = sorted(p_values, key=p_values.get)
    last = max((place for place, key in enumerate(order, 1) if p_values[key] <= rate * place / len(order)), default=0)
    return set(order[:last])
