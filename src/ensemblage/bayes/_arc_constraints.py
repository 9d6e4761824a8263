"""What is known of a network's arcs before it is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ensemblage.bayes._search_space import ArcRules, Structure
from ensemblage.kernels import CLASS
from ensemblage.messages import suggestion

Arcs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class NetworkConstraints:
    """Arcs that a network must have or must not have, and an order of groups of nodes.

    Parameters
    ----------
    required : sequence of (str, str), default=()
        Arcs, parent first, that every search starts from and none removes.
    forbidden : sequence of (str, str), default=()
        Arcs that are never added. The other direction stays open.
    tiers : sequence of sequence of str, default=()
        Groups of nodes, for instance by time: no arc leads from a later group to an earlier
        one. Nodes that are in no group are free.

    See Also
    --------
    BayesNetClassifier : Takes them as ``constraints``.

    Notes
    -----
    Nodes are named as the columns are, ``x0``, ``x1``, ... where they have no names; the class by
    the name of ``y``, or "class". The class never has parents, so no arc into it can be required.
    Constraints that contradict each other, the columns or other parameters are refused by ``fit``
    before any work.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.bayes import BayesNetClassifier, NetworkConstraints
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rules = NetworkConstraints(required=[("petal width (cm)", "petal length (cm)")])
    >>> network = BayesNetClassifier(constraints=rules).fit(X, y)
    >>> network.parents_["petal length (cm)"][:2]
    ['target', 'petal width (cm)']
    """

    required: Arcs = ()
    forbidden: Arcs = ()
    tiers: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Keep tuples, whatever was given."""
        for name in ("required", "forbidden"):
            object.__setattr__(self, name, tuple(_arc(name, pair) for pair in getattr(self, name)))
        object.__setattr__(self, "tiers", tuple(_tier(tier) for tier in self.tiers))


def arc_rules(constraints: NetworkConstraints, names: list[str]) -> ArcRules:
    """Find the nodes that are named, the class first, and refuse what cannot be."""
    place = _places(constraints, names)
    rules = ArcRules.free(len(names))
    for parent, child in constraints.forbidden:
        rules.possible[place[parent], place[child]] = False
    tier = _tiers(constraints, place)
    for node, own in tier.items():
        rules.possible[[other for other, its in tier.items() if its > own], node] = False
    required: list[list[int]] = [[] for _ in names]
    for parent, child in constraints.required:
        if not rules.possible[place[parent], place[child]]:
            raise ValueError(_why_not(constraints, parent, child, names[CLASS]))
        required[place[child]].append(place[parent])
    parents = tuple(tuple(dict.fromkeys(each)) for each in required)
    ranks = tuple(tier.get(node, 0) for node in range(len(names)))
    found = ArcRules(rules.possible, parents, ranks)
    _check_cycle(found, names)
    return found


def _places(constraints: NetworkConstraints, names: list[str]) -> dict[str, int]:
    """Give each name its node; refuse a name that is none."""
    place = {name: node for node, name in enumerate(names)}
    mentioned = (*constraints.required, *constraints.forbidden, *constraints.tiers)
    for name in (each for group in mentioned for each in group):
        if name not in place:
            raise ValueError(
                f"constraints name {name!r}, which is no node of this network."
                f"{suggestion(name, names)} The nodes are {names}."
            )
    return place


def _tiers(constraints: NetworkConstraints, place: dict[str, int]) -> dict[int, int]:
    """Give the tier of each node that is in one; it may be in one only."""
    found: dict[int, int] = {}
    for number, tier in enumerate(constraints.tiers):
        for name in tier:
            if found.setdefault(place[name], number) != number:
                raise ValueError(
                    f"constraints put {name!r} into tiers {found[place[name]] + 1} and "
                    f"{number + 1}. Leave it in one of them."
                )
    return found


def _why_not(constraints: NetworkConstraints, parent: str, child: str, target: str) -> str:
    """Say why a required arc cannot be."""
    if child == target:
        why = f"{child!r} is the class, which has no parents"
    elif parent == child:
        why = "a node is not its own parent"
    elif (parent, child) in constraints.forbidden:
        why = "it is forbidden too"
    else:
        why = f"{parent!r} is in a later tier than {child!r}"
    return (
        f"constraints require the arc {parent!r} -> {child!r}, but {why}. Leave out one of the two."
    )


def _arc(name: str, pair: Any) -> tuple[str, str]:
    is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
    if not is_pair or not all(isinstance(each, str) for each in pair):
        raise TypeError(
            f"{name} must be pairs of names, parent first, such as [('age', 'pressure')]; "
            f"got {pair!r} among them."
        )
    return (str(pair[0]), str(pair[1]))


def _tier(tier: Any) -> tuple[str, ...]:
    if isinstance(tier, str) or not all(isinstance(each, str) for each in tier):
        raise TypeError(
            "tiers must be groups of names such as [['age', 'sex'], ['pressure']]; "
            f"got {tier!r} among them."
        )
    return tuple(map(str, tier))


def _check_cycle(rules: ArcRules, names: list[str]) -> None:
    """Refuse required arcs that lead in a circle."""
    structure = Structure(rules.required)
    circle = [names[node] for node in structure.features if node in structure.above(node)]
    if circle:
        raise ValueError(
            f"constraints require arcs that lead in a circle through {circle}. "
            "Leave out one of them."
        )


def check_order(rules: ArcRules, order: Sequence[int], names: list[str]) -> None:
    """Refuse an order of the user's in which a required parent comes after its child."""
    for position, node in enumerate(order):
        for parent in rules.required[node]:
            if parent in order[position:]:
                raise ValueError(
                    f"constraints require the arc {names[parent]!r} -> {names[node]!r}, but order "
                    f"puts {names[node]!r} first, and K2 takes parents from before a node. Change "
                    "order, or set search to 'hill-climbing'."
                )


def check_parents(rules: ArcRules, max_parents: int, tree: bool, names: list[str]) -> None:
    """Refuse more required parents than a node may have."""
    for node, required in enumerate(rules.required):
        listed = [names[parent] for parent in required]
        if len(required) > max_parents:
            raise ValueError(
                f"constraints require the parents {listed} of {names[node]!r}, more than "
                f"max_parents={max_parents}. Raise max_parents."
            )
        if tree and len(set(required) - {CLASS}) > 1:
            raise ValueError(
                f"constraints require the parents {listed} of {names[node]!r}, but search='tan' "
                "gives a feature one parent besides the class. Set search to 'hill-climbing'."
            )
