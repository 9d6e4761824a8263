"""HISS, Figure 1: the paper's loop for memberships of one stratum, step by step."""


def figure_1(affinity, size):
    """Cap what exceeds one, share out what is left among the others, and look again."""
    tau = size * affinity / affinity.sum()
    while (tau > 1).any():
        tau[tau > 1] = 1.0
        capped = tau == 1.0
        left = size - capped.sum()
        tau[~capped] = left * affinity[~capped] / affinity[~capped].sum()
    return tau
