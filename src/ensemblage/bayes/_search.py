"""Structure search: K2, tree-augmented naive Bayes, hill climbing, tabu search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import ne
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import set_module, suggestion
from ensemblage.bayes._coding import CodedRows, Training
from ensemblage.bayes._score_kernels import (
    ACCURACY,
    BDEU,
    BIC,
    CLASS,
    K2,
    LIKELIHOOD,
    LOG,
    NO_EXTRA,
    PROBABILITY,
    Family,
    RowViews,
    add_log_ratios,
    leave_one_out_scores,
    leave_one_out_scores_by_entry,
    local_scores,
)

Doubles = NDArray[np.float64]
Arcs: TypeAlias = tuple[tuple[str, str], ...]
Parents: TypeAlias = tuple[tuple[int, ...], ...]
"""Parents of every node."""

GLOBAL_CRITERIA = {"accuracy": ACCURACY, "probability": PROBABILITY, "log": LOG}
LOCAL_CRITERIA = {"k2": K2, "bdeu": BDEU, "bic": BIC}
TREE_CRITERION = "likelihood"
"""Criterion of tree-augmented naive Bayes; without a penalty, since the size is fixed."""
TOLERANCE = 1e-10
"""Scores with a smaller difference are equal: they are means of many rounded terms."""
LOG_LIMIT = 650.0
"""Bound on log ratios, so that exp does not overflow."""
MAX_STALLED_MOVES = 10
"""Tabu search ends after this number of consecutive moves without a better structure."""
IMPOSSIBLE = -1e300
"""Gain of an arc that is not allowed; finite, so that differences are finite."""


@dataclass(frozen=True)
class Structure:
    """Parents of every node, in the order in which they were added; the class has none."""

    parents: Parents

    @classmethod
    def start(cls, n_features: int, init: str) -> Structure:
        """Make the initial network: the class as every feature's parent ("naive"), or no arcs."""
        first = (CLASS,) if init == "naive" else ()
        return cls(((), *(first for _ in range(n_features))))

    @property
    def features(self) -> range:
        """All nodes but the class."""
        return range(CLASS + 1, len(self.parents))

    def others(self, node: int) -> tuple[int, ...]:
        """Parents of a node besides the class."""
        return tuple(parent for parent in self.parents[node] if parent != CLASS)

    def add(self, node: int, parent: int) -> Structure:
        """Add a parent to a node."""
        return self._with(node, (*self.parents[node], parent))

    def remove(self, node: int, parent: int) -> Structure:
        """Remove a parent from a node."""
        return self._with(node, tuple(each for each in self.parents[node] if each != parent))

    def _with(self, node: int, family: tuple[int, ...]) -> Structure:
        return Structure((*self.parents[:node], family, *self.parents[node + 1 :]))

    def ancestors(self, node: int) -> set[int]:
        """Find all ancestors of a node."""
        found: set[int] = set()
        waiting = [node]
        while waiting:
            new = set(self.parents[waiting.pop()]) - found
            found |= new
            waiting += new
        return found

    def sorted_features(self, order: Sequence[int]) -> list[int]:
        """List the features in topological order, otherwise in the given order."""
        done: dict[int, None] = {CLASS: None}
        waiting = list(order)
        while waiting:
            ready = next(node for node in waiting if done.keys() >= set(self.parents[node]))
            done[ready] = None
            waiting.remove(ready)
        return list(done)[1:]


class Candidates(NamedTuple):
    """Candidates of one decision: the extra parents of a node, or ``NO_EXTRA``."""

    structure: Structure
    node: int
    extras: NDArray[np.int64]


Score = Callable[[Candidates], NDArray[np.float64]]
"""Function from candidates to one score per extra: a measure on one view, or an inner ensemble."""


class SearchSpace(NamedTuple):
    """Initial network and constraints of a search; ``max_parents`` counts the class.

    K2 takes a feature's parents from those before it in the order; the other searches use the order
    to resolve ties. An arc is allowed if ``possible[parent, node]``; each node has its ``required``
    parents. ``local`` is true if a score depends on one node only.
    """

    order: list[int]
    init: str
    max_parents: int
    possible: NDArray[np.bool_]
    required: Parents
    local: bool = False

    def first(self) -> Structure:
        """Make the initial network: required parents, and the class with a naive start."""
        parents: list[tuple[int, ...]] = [()]
        for node in range(1, len(self.order) + 1):
            required = self.required[node]
            naive = self.init == "naive" and self.possible[CLASS, node] and CLASS not in required
            below_limit = len(required) < self.max_parents
            parents.append((CLASS, *required) if naive and below_limit else required)
        return Structure(tuple(parents))

    def candidates(self, structure: Structure, node: int, among: Sequence[int]) -> list[int]:
        """Find the nodes that may be added as a parent of a node."""
        parents = structure.parents[node]
        if len(parents) >= self.max_parents:
            return []
        possible = self.possible[:, node].tolist()
        return [each for each in among if possible[each] and each not in parents]


Search = Callable[[Score, SearchSpace, Callable[[], bool]], Structure]
"""A search; it calls its last argument after each step, and stops if the result is true."""


def first_best(scores: Sequence[float]) -> int:
    """Find the first score that no later one exceeds by more than the tolerance."""
    best = 0
    if max(scores) <= scores[0] + TOLERANCE:  # the most common case
        return best
    for position in range(1, len(scores)):
        if scores[position] > scores[best] + TOLERANCE:
            best = position
    return best


@set_module("ensemblage.bayes")
@dataclass(frozen=True)
class NetworkConstraints:
    """Constraints of a structure search: required arcs, forbidden arcs, and tiers of nodes.

    Parameters
    ----------
    required : sequence of (str, str), default=()
        Required arcs, parent first.
    forbidden : sequence of (str, str), default=()
        Forbidden arcs, parent first. The reverse arc stays allowed.
    tiers : sequence of sequence of str, default=()
        Groups of nodes, for instance by time: no arc leads from a later tier to an earlier one.
        Nodes in no tier are not constrained.

    See Also
    --------
    BayesNetClassifier : Has the parameter ``constraints``.

    Notes
    -----
    Nodes have the names of the columns, or ``x0``, ``x1``, ... without names; the class has the
    name of ``y``, or "class". The class never has parents, so no arc into it can be required.
    Constraints that contradict each other, the columns or other parameters raise a ``ValueError``
    at the beginning of ``fit``.

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
        """Validate the constraints, and convert them to tuples."""
        for field in ("required", "forbidden"):
            arcs = []
            for pair in getattr(self, field):
                listed = isinstance(pair, Sequence) and not isinstance(pair, str)
                if not listed or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
                    raise TypeError(
                        f"{field} must contain pairs of names, parent first, such as [('age', "
                        f"'pressure')]; got {pair!r}."
                    )
                arcs.append((str(pair[0]), str(pair[1])))
            object.__setattr__(self, field, tuple(arcs))
        for tier in self.tiers:
            if isinstance(tier, str) or not all(isinstance(each, str) for each in tier):
                raise TypeError(
                    "tiers must contain lists of names, such as [['age', 'sex'], ['pressure']]; "
                    f"got {tier!r}."
                )
        object.__setattr__(self, "tiers", tuple(tuple(map(str, tier)) for tier in self.tiers))


def possible_arcs(n_nodes: int) -> NDArray[np.bool_]:
    """Allow all arcs except those into the class: (parents, nodes)."""
    possible = ~np.eye(n_nodes, dtype=bool)
    possible[:, CLASS] = False
    return possible


def resolve_constraints(
    constraints: NetworkConstraints, names: list[str]
) -> tuple[NDArray[np.bool_], Parents, dict[int, int]]:
    """Return possible arcs, required parents and tiers by node; raise on contradictions."""
    position = {name: node for node, name in enumerate(names)}
    for name in (n for field in (constraints.required, constraints.forbidden, constraints.tiers)
                 for group in field for n in group):  # fmt: skip
        if name not in position:
            raise ValueError(
                f"constraints name {name!r}, which is not a node of this network."
                f"{suggestion(name, names)} The nodes are {names}."
            )
    possible = possible_arcs(len(names))
    for parent, child in constraints.forbidden:
        possible[position[parent], position[child]] = False
    tiers = _tiers(constraints, position)
    for node, own in tiers.items():
        possible[[other for other, its in tiers.items() if its > own], node] = False
    required: list[list[int]] = [[] for _ in names]
    for parent, child in constraints.required:
        if not possible[position[parent], position[child]]:
            raise ValueError(_why_not(constraints, parent, child, names[CLASS]))
        required[position[child]].append(position[parent])
    structure = Structure(tuple(tuple(dict.fromkeys(each)) for each in required))
    cycle = [names[node] for node in structure.features if node in structure.ancestors(node)]
    if cycle:
        raise ValueError(
            f"constraints require arcs that form a cycle through {cycle}. Remove one of them."
        )
    return possible, structure.parents, tiers


def _tiers(constraints: NetworkConstraints, position: dict[str, int]) -> dict[int, int]:
    """Return the tier of each node that is in one; a node may be in one tier only."""
    found: dict[int, int] = {}
    for number, tier in enumerate(constraints.tiers):
        for name in tier:
            if found.setdefault(position[name], number) != number:
                raise ValueError(
                    f"constraints put {name!r} into tiers {found[position[name]] + 1} and "
                    f"{number + 1}. Remove it from one of them."
                )
    return found


def _why_not(constraints: NetworkConstraints, parent: str, child: str, target: str) -> str:
    """Explain why a required arc is not allowed."""
    if child == target:
        reason = f"{child!r} is the class, which has no parents"
    elif parent == child:
        reason = "a node cannot be its own parent"
    elif (parent, child) in constraints.forbidden:
        reason = "it is also forbidden"
    else:
        reason = f"{parent!r} is in a later tier than {child!r}"
    return (
        f"constraints require the arc {parent!r} -> {child!r}, but {reason}. Remove one of the "
        "constraints."
    )


def _check_required(space: SearchSpace, search: str, names: list[str], ordered: bool) -> None:
    """Reject required parents that contradict other parameters; ``ordered`` if order is given."""
    for node, required in enumerate(space.required):
        listed = [names[parent] for parent in required]
        if len(required) > space.max_parents:
            raise ValueError(
                f"constraints require the parents {listed} of {names[node]!r}, more than "
                f"max_parents={space.max_parents}. Raise max_parents."
            )
        if search == "tan" and len(set(required) - {CLASS}) > 1:
            raise ValueError(
                f"constraints require the parents {listed} of {names[node]!r}, but search='tan' "
                "gives a feature one parent besides the class. Set search to 'hill-climbing'."
            )
        later = space.order[space.order.index(node) :] if node != CLASS else []
        for parent in required:
            if search == "k2" and ordered and parent in later:
                raise ValueError(
                    f"constraints require the arc {names[parent]!r} -> {names[node]!r}, but "
                    f"{names[node]!r} comes first in order, and K2 takes a node's parents from "
                    "those before it. Change order, or set search to 'hill-climbing'."
                )


def _resolve_order(order: Any, features: list[str]) -> list[int]:
    """Convert the user's order of features, by name or position, to nodes, without the class."""
    position = {name: j for j, name in enumerate(features)}
    wanted = [position.get(item, item) for item in np.asarray(order).tolist()]
    if sorted(map(str, wanted)) != sorted(map(str, range(len(features)))):
        raise ValueError(
            f"order must name each of the {len(features)} features exactly once, by name or by "
            f"position, got {order!r}. The class always comes first and is not listed."
        )
    return [int(j) + CLASS + 1 for j in wanted]


def plan_search(estimator: Any, training: Training) -> SearchSpace:
    """Make the search space of a classifier; reject parameters that contradict the columns."""
    names = training.names
    constraints = estimator.constraints or NetworkConstraints()
    possible, required, tiers = resolve_constraints(constraints, names)
    if estimator.order is None:  # order of the columns, earlier tiers and required parents first
        by_tier = sorted(range(CLASS + 1, len(names)), key=lambda node: tiers.get(node, 0))
        order = Structure(required).sorted_features(by_tier)
    else:
        order = _resolve_order(estimator.order, names[CLASS + 1 :])
    max_parents = len(names) if estimator.max_parents is None else estimator.max_parents
    local = criterion_of(estimator) not in GLOBAL_CRITERIA
    space = SearchSpace(order, estimator.init, max_parents, possible, required, local)
    _check_required(space, estimator.search, names, ordered=estimator.order is not None)
    return space


def criterion_of(estimator: Any) -> str:
    """Return the criterion of the search; tree-augmented naive Bayes has its own."""
    return TREE_CRITERION if estimator.search == "tan" else str(estimator.criterion)


def compress_views(views: Doubles, importance: bool = False) -> RowViews:
    """Keep the rows of positive weight in each view of (n_views, n_rows).

    A weight is a number of copies, of which one is left out; or a row's ``importance``: the row is
    left out whole, and rows of weight zero are kept, as they are predicted too.
    """
    view, rows = np.nonzero(np.ones_like(views) if importance else views)
    starts = np.concatenate([[0], np.cumsum(np.bincount(view, minlength=len(views)))])
    weights = views[view, rows]
    left_out = weights if importance else np.minimum(weights, 1.0)
    # contiguous: kernels are compiled for one layout
    return RowViews(np.ascontiguousarray(rows), starts.astype(np.int64), weights, left_out)


class NetworkMeasure(ABC):
    """Scores candidate parents on views of the rows; see :class:`ensemblage.inner.Measure`.

    Views are recognised by identity, so that cached values are used for many candidates.
    """

    def __init__(self, rows: CodedRows, metric: int, importance: bool = False) -> None:
        self.n_items = rows.n_rows
        self.rows = rows
        self.metric = metric
        self.importance = importance
        self._key: Doubles | None = None

    def __call__(self, candidates: Candidates, view: Doubles) -> Doubles:
        """Score the candidates on one view, the weight of each row: (n_extras,)."""
        if view is not self._key:
            self.set_views(view[None])
            self._key = view
        scores: Doubles = self._score_varying(candidates)[0]
        return scores

    def score_views(self, candidates: Candidates, views: Doubles) -> Doubles:
        """Score the candidates on all views of (n_views, n_rows) together: (n_views, n_extras)."""
        if views is not self._key:
            self.set_views(views)
        return self._score_varying(candidates)

    def set_views(self, views: Doubles) -> None:
        """Set the views, (n_views, n_rows), on which candidates are scored."""
        self._key = views
        self._set_views(compress_views(views, self.importance))

    def _score_varying(self, candidates: Candidates) -> Doubles:
        """Score the candidates with several categories; the others score as ``NO_EXTRA``.

        A column with a single bin changes nothing; in wide tables most columns have one.
        """
        structure, node, extras = candidates
        if self.rows.all_vary or extras[0] != NO_EXTRA:
            return self._score(candidates)
        changes = self.rows.varies[extras] & self.rows.varies[node]
        changes[0] = True
        found = self._score(Candidates(structure, node, extras[changes]))
        scores = np.repeat(found[:, :1], len(extras), axis=1)
        scores[:, changes] = found
        return scores

    @abstractmethod
    def _set_views(self, views: RowViews) -> None: ...

    @abstractmethod
    def _score(self, candidates: Candidates) -> Doubles: ...


class LeaveOneOutMeasure(NetworkMeasure):
    r"""Leave-one-out score of the whole network (Algorithm 3), by one of ``GLOBAL_CRITERIA``.

    Leave-one-out log ratios :math:`\log P_k - \log P_y` of the network without one node are updated
    as the structure grows, so that a candidate costs one pass over the rows. Weights are numbers of
    copies or, with ``importance``, of rows that are left out whole; see :func:`compress_views`.
    """

    _log_ratios: Doubles
    _ratios: Doubles

    def __init__(
        self, rows: CodedRows, metric: int, smoothing: float, importance: bool = False
    ) -> None:
        super().__init__(rows, metric, importance)
        self.smoothing = smoothing

    @property
    def n_views(self) -> int:
        """Number of the current views."""
        return len(self._fewest_rows)

    def keep_first(self, n_views: int) -> None:
        """Keep the first views only; arrays are copied, so that no other copy changes."""
        rows, starts, weights, left_out = self._views
        end = starts[n_views]
        self._measure_views(
            RowViews(rows[:end], starts[: n_views + 1], weights[:end], left_out[:end])
        )
        self._log_ratios = self._log_ratios[:end].copy()
        self._ratios = self._ratios[:end].copy()

    def score_first(self, candidates: Candidates, sizes: Sequence[int]) -> list[Doubles]:
        """Score the candidates on the first views, for each size: (size, n_extras) each.

        The scores equal those of a measure without the other views, bit for bit.
        """
        family, widest = self._family(candidates)
        by_entry = [self._by_entry(family, widest, size) for size in sizes]
        scores = {way: self._score_family(candidates, family, widest, way) for way in set(by_entry)}
        return [scores[way][:size] for way, size in zip(by_entry, sizes, strict=True)]

    def item_losses(self, candidates: Candidates, best: int, view: Doubles) -> Doubles:
        """Compute one minus the leave-one-out probability of each row's class: (n_rows,).

        The structure has the best candidate added. The view's weights are importances: rows without
        weight are predicted by the others.
        """
        if view is not self._key:
            self.set_views(view[None])
            self._key = view
        structure, node, extras = candidates
        if extras[best] != NO_EXTRA:
            structure = structure.add(node, int(extras[best]))
        losses: Doubles = 1.0 - 1.0 / self._ratios_without(structure, CLASS).sum(axis=1)
        return losses

    def _set_views(self, views: RowViews) -> None:
        self._measure_views(views)
        labels = self.rows.nodes.codes[CLASS][views.rows]
        view = np.repeat(np.arange(len(views.starts) - 1), np.diff(views.starts))
        prior = np.zeros((len(views.starts) - 1, self.rows.n_classes))
        np.add.at(prior, (view, labels), views.weights)
        kept = prior[view, labels] - views.left_out + self.smoothing
        self._log_ratios = np.log((prior[view] + self.smoothing) / kept[:, None])
        self._log_ratios[np.arange(len(labels)), labels] = 0.0
        self._included: list[tuple[int, ...] | None] = [None] * len(self.rows.nodes.codes)
        self._ratios = np.empty_like(self._log_ratios)

    def _measure_views(self, views: RowViews) -> None:
        self._views = views
        # minimum over the first views; indexing a list is faster than indexing an array
        self._fewest_rows = np.minimum.accumulate(np.diff(views.starts)).tolist()
        self._whole_rows = bool((views.left_out == 1.0).all())

    def _ratios_without(self, structure: Structure, node: int) -> Doubles:
        """Compute the ratios :math:`P_k / P_y` without a node: (n_entries, n_classes)."""
        wanted: list[tuple[int, ...] | None] = [*structure.parents]
        wanted[node] = None
        if wanted != self._included:
            for other in compress(range(len(wanted)), map(ne, self._included, wanted)):
                self._add(other, self._included[other] or (), -1.0)
                self._add(other, wanted[other] or (), 1.0)
            np.minimum(np.maximum(self._log_ratios, -LOG_LIMIT), LOG_LIMIT, out=self._ratios)
            np.exp(self._ratios, out=self._ratios)
            self._included = wanted
        return self._ratios

    def _add(self, node: int, parents: tuple[int, ...], sign: float) -> None:
        if CLASS in parents:
            configurations = self.rows.configurations([p for p in parents if p != CLASS])
            add_log_ratios(
                self.rows.nodes, Family(node, True, *configurations), self._views,
                self.smoothing, sign, self._log_ratios,
            )  # fmt: skip

    def _family(self, candidates: Candidates) -> tuple[Family, int]:
        """Return the node with its parents, and the entries of the largest candidate table."""
        structure, node, extras = candidates
        parents = structure.parents[node]
        configurations = self.rows.configurations(structure.others(node))
        # tables are always by class, so the class splits none
        splits = [NO_EXTRA if extra == CLASS else extra for extra in extras.tolist()]
        n_groups = configurations.n_codes * self.rows.n_classes
        widest = self.rows.count_entries(node, parents, n_groups, splits)
        return Family(node, CLASS in parents, *configurations), widest

    def _by_entry(self, family: Family, widest: int, n_views: int) -> bool:
        """Whether to score by entry (cost: entries times classes) and not by row (cost: rows)."""
        few = widest <= 2 * self._fewest_rows[n_views - 1]
        return few and self._whole_rows and family.has_class

    def _score(self, candidates: Candidates) -> Doubles:
        family, widest = self._family(candidates)
        by_entry = self._by_entry(family, widest, self.n_views)
        return self._score_family(candidates, family, widest, by_entry)

    def _score_family(
        self, candidates: Candidates, family: Family, widest: int, by_entry: bool
    ) -> Doubles:
        structure, node, extras = candidates
        ratios = self._ratios_without(structure, node)
        given = extras, self._views, ratios, self.smoothing, self.metric
        if by_entry:
            return leave_one_out_scores_by_entry(self.rows.nodes, family, widest, *given)
        scores: Doubles = leave_one_out_scores(self.rows.nodes, family, *given)
        return scores


class LocalMeasure(NetworkMeasure):
    """Decomposable score of a node given its parents, the class among them."""

    def _set_views(self, views: RowViews) -> None:
        self._views = views

    def _score(self, candidates: Candidates) -> Doubles:
        structure, node, extras = candidates
        nodes, parents = self.rows.nodes, structure.parents[node]
        configurations = self.rows.configurations(parents)
        self.rows.count_entries(node, parents, configurations.n_codes, extras.tolist())
        possible = float(np.prod([float(nodes.n_categories[p]) for p in parents]))
        family = Family(node, CLASS in parents, *configurations)
        scores: Doubles = local_scores(nodes, family, possible, extras, self._views, self.metric)
        return scores


def make_measure(
    criterion: str, rows: CodedRows, smoothing: float, importance: bool = False
) -> NetworkMeasure:
    """Make the measure of a criterion; only leave-one-out criteria use smoothing."""
    if criterion in GLOBAL_CRITERIA:
        return LeaveOneOutMeasure(rows, GLOBAL_CRITERIA[criterion], smoothing, importance)
    local = {**LOCAL_CRITERIA, TREE_CRITERION: LIKELIHOOD}
    return LocalMeasure(rows, local[criterion])


def k2_search(
    score: Score, space: SearchSpace, step: Callable[[], bool] = lambda: False
) -> Structure:
    """Search the structure by K2 (Algorithm 2).

    A feature's parents are taken from the class and the features before it in the order.
    """
    structure = space.first()
    for position, node in enumerate(space.order):
        earlier = [CLASS, *space.order[:position]]
        while possible := space.candidates(structure, node, earlier):  # lines 3 to 12
            extras = np.array([NO_EXTRA, *possible], dtype=np.int64)
            scores = score(Candidates(structure, node, extras))
            chosen = int(extras[first_best(scores.tolist())])
            if chosen == NO_EXTRA:
                break
            structure = structure.add(node, chosen)
        if step():
            break
    return structure


class CachedScore:
    """A local score that is computed once for each node and its parents."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self._cached: dict[tuple[int, tuple[int, ...]], dict[int, float]] = {}

    def __call__(self, candidates: Candidates) -> NDArray[np.float64]:
        """Compute the scores that are not cached."""
        structure, node, extras = candidates
        cached = self._cached.setdefault((node, structure.parents[node]), {})
        new = [extra for extra in extras.tolist() if extra not in cached]
        if new:
            missing = candidates._replace(extras=np.array(new, dtype=np.int64))
            cached.update(zip(new, self.score(missing).tolist(), strict=True))
        return np.array([cached[extra] for extra in extras.tolist()])


def moves_at(
    score: Score, structure: Structure, node: int, space: SearchSpace, below: set[int]
) -> Iterator[tuple[float, Structure]]:
    """Yield gain and structure of each addition, removal and reversal of an arc into a node.

    Gains are differences of scores, so they are the same for scores of the whole network and of a
    single node.
    """

    def scores(structure: Structure, node: int, extras: list[int]) -> list[float]:
        candidates = Candidates(structure, node, np.array(extras, dtype=np.int64))
        found: list[float] = score(candidates).tolist()
        return found

    among = [each for each in (CLASS, *space.order) if each not in below]
    extras = space.candidates(structure, node, among)
    now, *grown = scores(structure, node, [NO_EXTRA, *extras])
    for extra, value in zip(extras, grown, strict=True):
        yield value - now, structure.add(node, extra)
    for parent in structure.parents[node]:
        if parent in space.required[node]:
            continue
        without = structure.remove(node, parent)
        (value,) = scores(without, node, [NO_EXTRA])
        yield value - now, without
        reversible = parent not in without.ancestors(node)
        if reversible and space.candidates(without, parent, [node]):
            before, after = scores(without, parent, [NO_EXTRA, node])
            yield value - now + after - before, without.add(parent, node)


def sorted_moves(
    score: Score, structure: Structure, space: SearchSpace
) -> list[tuple[float, Structure]]:
    """List all moves, the best first; ties are in the order of the nodes."""
    below: dict[int, set[int]] = {node: set() for node in range(len(structure.parents))}
    for node in structure.features:
        for ancestor in structure.ancestors(node):
            below[ancestor].add(node)
    moves = [
        move
        for node in space.order
        for move in moves_at(score, structure, node, space, below[node])
    ]
    return sorted(moves, key=lambda move: -round(move[0] / TOLERANCE))


def hill_climbing(score: Score, space: SearchSpace, step: Callable[[], bool]) -> Structure:
    """Make the best move until no move raises the score."""
    score, structure = CachedScore(score) if space.local else score, space.first()
    while True:
        moves = sorted_moves(score, structure, space)
        if not moves or moves[0][0] <= TOLERANCE:
            return structure
        structure = moves[0][1]
        if step():
            return structure


def tabu_search(score: Score, space: SearchSpace, step: Callable[[], bool]) -> Structure:
    """Make the best move to a new structure, even if it lowers the score; return the best one."""
    score = CachedScore(score) if space.local else score
    structure = best = space.first()
    gain, best_gain, stalled = 0.0, 0.0, 0
    visited = {_arcs(structure)}
    while stalled < MAX_STALLED_MOVES:
        moves = sorted_moves(score, structure, space)
        move = next((each for each in moves if _arcs(each[1]) not in visited), None)
        if move is None:
            break
        gain, structure, stalled = gain + move[0], move[1], stalled + 1
        visited.add(_arcs(structure))
        if gain > best_gain + TOLERANCE:
            best, best_gain, stalled = structure, gain, 0
        if step():
            break
    return best


def _arcs(structure: Structure) -> tuple[frozenset[int], ...]:
    return tuple(map(frozenset, structure.parents))


def cycles_of(parents: NDArray[np.int64]) -> list[list[int]]:
    """List the cycles of a graph in which each node but the first has one parent."""
    visited_by = np.zeros(len(parents), dtype=np.int64)
    cycles = []
    for start in range(1, len(parents)):
        node, path = start, []
        while node != 0 and not visited_by[node]:
            visited_by[node] = start
            path.append(node)
            node = int(parents[node])
        if node != 0 and visited_by[node] == start:
            cycles.append(path[path.index(node) :])
    return cycles


def contract(
    gains: Doubles, parents: NDArray[np.int64], cycles: list[list[int]]
) -> tuple[Doubles, NDArray[np.int64]]:
    """Contract each cycle to one node; gains into it are relative to the arc that is replaced.

    Returns the gains between the new nodes, and for each pair of them the arc of the old graph,
    parent and node, with that gain.
    """
    inside = [node for cycle in cycles for node in cycle]
    groups = [[node] for node in range(len(gains)) if node not in set(inside)] + cycles
    relative = gains.copy()
    relative[:, inside] -= gains[parents[inside], inside]
    relative[relative < IMPOSSIBLE / 2] = IMPOSSIBLE
    nodes = np.concatenate(groups)
    starts = np.cumsum([0, *map(len, groups[:-1])])
    found = np.full((len(groups), len(groups)), IMPOSSIBLE)
    arcs = np.zeros((len(groups), len(groups), 2), dtype=np.int64)
    for b, into in enumerate(groups):
        at = relative[:, into].argmax(axis=1)
        gain = relative[np.arange(len(gains)), np.array(into)[at]][nodes]
        found[:, b] = np.maximum.reduceat(gain, starts)
        is_best = gain == np.repeat(found[:, b], np.diff([*starts, len(nodes)]))
        first = np.minimum.reduceat(np.where(is_best, np.arange(len(nodes)), len(nodes)), starts)
        arcs[:, b, 0] = nodes[first]
        arcs[:, b, 1] = np.array(into)[at[nodes[first]]]
    np.fill_diagonal(found, IMPOSSIBLE)
    return found, arcs


def best_branching(gains: Doubles) -> NDArray[np.int64]:
    """Find the maximum branching: the parents with the largest sum of gains, without a cycle.

    ``gains[p, n]`` is the gain of p as the parent of n; node 0 is the root, its own parent.
    (Chu and Liu 1965, Edmonds 1967; all cycles are contracted together.)
    """
    parents: NDArray[np.int64] = gains.argmax(axis=0)
    parents[0] = 0
    cycles = cycles_of(parents)
    if not cycles:
        return parents
    smaller, arcs = contract(gains, parents, cycles)
    for b, a in enumerate(best_branching(smaller).tolist()):
        if b > 0:
            parent, node = arcs[a, b]
            parents[node] = parent
    return parents


def tree_augmented(score: Score, space: SearchSpace, step: Callable[[], bool]) -> Structure:
    r"""Find the tree with the largest conditional mutual information, rooted at the first feature.

    The score is a node's log likelihood; the gain of a parent j is
    :math:`n I(X_i; X_j \mid C)`. With constraints the maximum branching is found.
    """
    start = space._replace(init="naive").first()
    gains = np.full((len(start.parents), len(start.parents)), IMPOSSIBLE)
    for node in start.features:
        bare = start
        for parent in start.others(node):
            bare = bare.remove(node, parent)
        extras = [NO_EXTRA, *(each for each in start.features if each != node)]
        now, *grown = score(Candidates(bare, node, np.array(extras, dtype=np.int64))).tolist()
        gains[extras[1:], node] = np.array(grown) - now
        if step():
            return start
    gains[1:, 1:] = (gains[1:, 1:] + gains[1:, 1:].T) / 2  # equal but for rounding
    gains[gains < TOLERANCE] = IMPOSSIBLE
    gains[~space.possible] = IMPOSSIBLE
    gains[CLASS] = 0.0
    for node in start.features:  # no choice with a required parent, or at max_parents
        required = start.others(node)
        if required or len(start.parents[node]) >= space.max_parents:
            gains[:, node] = IMPOSSIBLE
            gains[required[0] if required else CLASS, node] = 0.0
    # the first feature is the root, all else equal
    gains[CLASS, space.order[0]] += 1e-9 * max(float(gains.max()), 1.0)
    structure = start
    for node, parent in enumerate(best_branching(gains).tolist()):
        if parent != CLASS and parent not in start.parents[node]:
            structure = structure.add(node, parent)
    return structure


SEARCHES: dict[str, Search] = {
    "k2": k2_search,
    "tan": tree_augmented,
    "hill-climbing": hill_climbing,
    "tabu": tabu_search,
}
