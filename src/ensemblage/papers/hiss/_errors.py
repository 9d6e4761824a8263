"""Tables 2 and 3 of the HISS paper: classification errors, other readings of them, and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from ensemblage._core import count
from ensemblage.datasets import make_multi_source
from ensemblage.evaluation import MemberDiversityDisplay, member_labels
from ensemblage.fusion import MemberStackingClassifier, Stacking
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    dataset_print,
    paper_cell,
    paper_dataset,
    paper_table,
    read_printed,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    Groups,
    by_repeat,
    closeness,
    entry,
    failed,
    friedman,
    grouped,
    mean_of,
    mean_rows,
    win_counts,
)
from ensemblage.strata import KMeansStrata, MixtureStrata, StrataEnsembleClassifier, paper_ensemble
from ensemblage.studies import CellResult, ResultRow, ResultTable, recorded_warnings

Array = NDArray[Any]


# Suffix of names of generated datasets.
STAND_IN = "-stand-in"
# Number of features in the paper's Table 1, and agreement of the clips' rules, by stand-in.
SCENES = {"indoor": (190, 0.75), "outdoor": (126, 0.85)}
# Number of video clips, which are the sources.
N_CLIPS = 7
# Number of latent factors of a stand-in.
N_FACTORS = 12
# Number of rows of pendigits, as in the paper.
PENDIGITS_ROWS = 2000
# Number of members of each ensemble.
N_MEMBERS = 20
# Public datasets of the paper.
PUBLIC = ("ecoli", "pendigits", "glass", "yeast", "vehicle")
# The same without rare classes: the paper's numbers of rows, but for glass (204), vehicle (946).
PAPER_ROWS = ("ecoli-327", "pendigits", "glass-205", "yeast-1479", "vehicle")
# Number of rows below which a class is rare.
MIN_CLASS_ROWS = 10
# Both readings of glass with an additional column, the number of a row in the order of the classes.
WITH_ID = ("glass-id", "glass-205-id")
# Number of each class of glass in the public file, whose rows are in this order.
GLASS_TYPES = {
    "build wind float": 1, "build wind non-float": 2, "vehic wind float": 3, "containers": 5,
    "tableware": 6, "headlamps": 7,
}  # fmt: skip
# Columns with clusters instead of strata: diagonal covariances, spherical ones as in HISS, K-means.
CLUSTERS = (
    "em-3", "em-10", "em-20", "em-3-spherical", "em-10-spherical", "em-20-spherical",
    "k-means-3", "k-means-10", "k-means-20",
)  # fmt: skip
# Columns stacked on the members' labels, by those stacked on their decision values.
LABELS = {
    "hiss": "hiss-labels", "bagging-stacked": "bagging-labels",
    "adaboost-stacked": "adaboost-labels",
}  # fmt: skip
# Columns on standardised features.
STANDARDISED = ("svm-standardised", "hiss-standardised", "hiss-labels-standardised")


class SplitParams(msgspec.Struct, frozen=True):
    """One method on one split of one dataset."""

    dataset: str
    method: str
    repeat: int
    seed: int


class LabelStacking(Stacking):
    """Stacking on the members' labels."""

    def _features(self, outputs: Any) -> Any:
        return super()._features(np.sign(outputs))


class LabelMemberStackingClassifier(MemberStackingClassifier):
    """Stacking of an ensemble's members on their labels."""

    def _outputs(self, X: Any) -> Any:
        return np.sign(super()._outputs(X))


def make_methods(seed: int, n_rows: int) -> dict[str, Any]:
    """Unfitted classifier of each column, for ``n_rows`` training rows."""
    linear = SVC(kernel="linear")
    bagging = BaggingClassifier(linear, n_estimators=N_MEMBERS, random_state=seed)
    # boosting weights sum to one; C scales their sum to the number of rows
    adaboost = AdaBoostClassifier(
        SVC(kernel="linear", C=n_rows), n_estimators=N_MEMBERS, random_state=seed
    )

    def clusters(stratifier: Any) -> Any:
        return StrataEnsembleClassifier(
            stratifier, linear, fusion="stacking", final_estimator=SVC(), cv="in-sample",
            random_state=seed,
        )  # fmt: skip

    def mixture(n_strata: int) -> Any:
        return clusters(MixtureStrata(n_strata, covariance_type="spherical"))

    hiss = paper_ensemble(random_state=seed)[-1]
    on_labels = clone(hiss).set_params(fusion=LabelStacking(SVC()), final_estimator=None)
    return {
        "svm": linear,
        "adaboost": adaboost,
        "bagging": bagging,
        "hiss": hiss,
        "bagging-stacked": MemberStackingClassifier(bagging, SVC()),
        "adaboost-stacked": MemberStackingClassifier(adaboost, SVC()),
        **{f"em-{k}": clusters(MixtureStrata(k)) for k in (3, 10, 20)},
        **{f"em-{k}-spherical": mixture(k) for k in (3, 10, 20)},
        **{f"k-means-{k}": clusters(KMeansStrata(k)) for k in (3, 10, 20)},
        "em-20-random": clusters(MixtureStrata(20, init="random")),
        "hiss-labels": on_labels,
        "bagging-labels": LabelMemberStackingClassifier(bagging, SVC()),
        "adaboost-labels": LabelMemberStackingClassifier(adaboost, SVC()),
        "svm-standardised": make_pipeline(StandardScaler(), linear),
        "hiss-standardised": make_pipeline(StandardScaler(), hiss),
        "hiss-labels-standardised": make_pipeline(StandardScaler(), on_labels),
        "rbf-svm": make_pipeline(StandardScaler(), SVC()),
        "majority": DummyClassifier(),
    }


def make_video_standin(
    scene: str,
    *,
    n_samples_per_source: int = 500,
    return_sources: bool = False,
    random_state: Any = None,
) -> Any:
    """Generate a stand-in for the paper's video images, which are not public.

    Twelve latent factors come from ``make_multi_source`` with seven sources ("clips") whose rules
    partly agree. All features are linear in the factors, so they are correlated as image features
    are; each clip has its own mean, scale and noise. Parameters were chosen so that the error of a
    linear support vector machine is about that of the paper.
    """
    rng = check_random_state(random_state)
    n_features, agreement = SCENES[scene]
    factors, y, sources = make_multi_source(
        N_CLIPS, N_CLIPS * n_samples_per_source, N_FACTORS, separation=0.0, agreement=agreement,
        noise=0.1, random_state=rng, return_sources=True,
    )  # fmt: skip
    mixing = rng.standard_normal((N_FACTORS, n_features))
    mixing = mixing / np.linalg.norm(mixing, axis=-2, keepdims=True)
    means = rng.standard_normal((N_CLIPS, n_features))
    scales, noise = rng.uniform(0.6, 1.4, N_CLIPS), rng.uniform(0.2, 1.0, N_CLIPS)
    X = means[sources] + scales[sources, None] * (factors @ mixing)
    X += noise[sources, None] * rng.standard_normal(X.shape)
    return (X, y, sources) if return_sources else (X, y)


def class_problem(name: str, data_dir: str | None = None) -> tuple[Array, Array]:
    """Load a dataset with all its classes, by its name and reading; rows are not scaled.

    A number of rows after the name omits rare classes; ``id`` adds the number of each row in the
    order of the classes.
    """
    stem, *readings = name.split("-")
    dataset = paper_dataset(stem, data_dir)
    X, labels = dataset.X.astype(float), dataset.y
    if stem == "pendigits":
        rows = np.random.default_rng(0).permutation(len(X))[:PENDIGITS_ROWS]
        X, labels = X[rows], labels[rows]
    if "id" in readings:
        types = [GLASS_TYPES.get(label, 0) for label in labels]
        X = np.column_stack([X, np.argsort(np.argsort(types, kind="stable"))])
    if any(map(str.isdigit, readings)):
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        frequent = counts[codes] >= MIN_CLASS_ROWS
        X, labels = X[frequent], labels[frequent]
    return X, labels


def binary_problem(name: str, data_dir: str | None = None) -> tuple[Array, Array]:
    """Load a dataset as the paper uses it, or generate its stand-in.

    Rows are not scaled; the target is 1 for the most frequent class, else 0.
    """
    if name.endswith(STAND_IN):
        X, y = make_video_standin(name.removesuffix(STAND_IN), random_state=0)
        return X, y
    X, labels = class_problem(name, data_dir)
    names, counts = np.unique(labels, return_counts=True)
    return X, (labels == names[counts.argmax()]).astype(int)


def split_error(problem: tuple[Array, Array], method: str, seed: int) -> float:
    """Test error of a method on one random split."""
    return fitted_error(problem, lambda n_rows: make_methods(seed, n_rows)[method], seed)


def fitted_error(
    problem: tuple[Array, Array], make_method: Callable[[int], Any], seed: int
) -> float:
    """Test error on one random split of the method for a number of training rows."""
    X_train, X_test, y_train, y_test = train_test_split(*problem, test_size=0.3, random_state=seed)
    model = make_pipeline(MinMaxScaler(), make_method(len(y_train)))
    with recorded_warnings():  # strata with a single class are expected
        return 1.0 - float(model.fit(X_train, y_train).score(X_test, y_test))


class HissTable(PaperTable[tuple[int, int]]):
    """Errors of the paper's columns and of additional ones; tables share the cells of HISS.

    A scale is the number of splits of public datasets and of stand-ins.
    """

    scales = Scales((3, 3), (10, 3), (10, 10))
    quick_datasets: tuple[str, ...] = PUBLIC
    family = "hiss-tables"
    own_columns: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the paper, then additional ones."""
        return (*self.printed.columns, *self.own_columns)

    def grid(self, scope: PaperScope) -> Iterator[SplitParams]:
        """Ordered by repeat, so that a partial run has complete rows."""
        public, stand_ins = self.scale_of(scope)
        for repeat in range(max(public, stand_ins)):
            for name in scope.datasets:
                if repeat >= (stand_ins if name.endswith(STAND_IN) else public):
                    continue
                for method in self.columns:
                    yield SplitParams(name, method, repeat, scope.seed)

    @staticmethod
    @paper_cell(SplitParams)
    def compute(params: SplitParams, data_dir: str | None) -> dict[str, float]:
        problem = binary_problem(params.dataset, data_dir)
        seed = repeat_seed(params.seed, params.repeat)
        return {"error": split_error(problem, params.method, seed)}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        rows = []
        for name in scope.datasets:
            for method in self.columns:
                found = groups.get((name, method), [])
                rows.append(self.entry(name, method, by_repeat(found, "error"), failed(found)))
        public = [row for row in rows if row.comparable]
        theirs = self.printed.columns
        rivals = [column for column in self.columns if column != "majority"]
        summary = [
            *closeness(public),
            *win_counts(public, theirs, greater_is_better=False),
            *win_counts(public, rivals, greater_is_better=False),
            *friedman(public, theirs, greater_is_better=False),
        ]
        return [
            ResultTable(
                self.name,
                self.printed.title,
                "classification error",
                [*rows, *mean_rows(rows, self.columns)],
                list(dict.fromkeys(summary)),  # equal sentences without additional columns
                (*self.printed.notes, *scope.missing_notes),
                greater_is_better=False,
            )
        ]


@paper_table("hiss-table2")
class HissTable2(HissTable):
    """Comparison with a support vector machine, AdaBoost, bagging, and two additional baselines."""

    own_columns = ("rbf-svm", "majority")


@paper_table("hiss-table3")
class HissTable3(HissTable):
    """Comparison with clusters of a Gaussian mixture; the paper's columns only."""


def difference_sentence(
    one: str, other: str, values: Mapping[str, float], rivals: Mapping[str, float], digits: int = 3
) -> list[str]:
    """Sentence with the differences of a measure's means over the datasets that both have."""
    gains = np.array([values[name] - rivals[name] for name in values if name in rivals])
    gains = gains.round(9)  # equal means are equal but for rounding errors
    if not len(gains):
        return []
    text = (
        f"{one} less {other}: {gains.mean():+.{digits}f} on average over "
        f"{count(len(gains), 'dataset')}, lower on {int((gains < 0).sum())} and higher on "
        f"{int((gains > 0).sum())}"
    )
    if len(gains) < 5 or np.allclose(gains, 0):
        return [f"{text}."]
    return [f"{text}, Wilcoxon p = {wilcoxon(gains).pvalue:.2g}."]


def dataset_means(
    groups: Groups, names: Sequence[str], method: str, value: str
) -> dict[str, float]:
    """Mean over the splits of each dataset that has any."""
    repeats = {name: by_repeat(groups.get((name, method), []), value) for name in names}
    return {name: mean_of(found) for name, found in repeats.items() if found}


class Part(NamedTuple):
    """A table of an experiment: rows, columns, and the pairs of columns that are compared."""

    stem: str
    title: str
    datasets: tuple[str, ...]
    columns: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()


class HissParts(HissTable):
    """Several tables from the same cells."""

    own_datasets: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    def datasets(self, scale: str) -> tuple[str, ...]:
        return self.own_datasets

    def generated(self, scale: str) -> tuple[str, ...]:
        return tuple(name for name in self.own_datasets if name.endswith(STAND_IN))

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        return dataset_print(name.partition("-")[0], data_dir)

    def grid(self, scope: PaperScope) -> Iterator[SplitParams]:
        for params in super().grid(scope):
            if any(params.dataset in part.datasets and params.method in part.columns
                   for part in self.parts):  # fmt: skip
                yield params

    def printed_error(self, name: str, method: str) -> float | None:
        """Look up the paper's error for any reading of a dataset and a column."""
        return None

    def part_table(
        self, part: Part, value: str, measure: str, groups: Groups, scope: PaperScope
    ) -> ResultTable:
        names = [name for name in part.datasets if name in scope.datasets]
        rows = []
        for name in names:
            for method in part.columns:
                found = groups.get((name, method), [])
                values, paper = by_repeat(found, value), self.printed_error(name, method)
                rows.append(entry(name, method, values, failures=failed(found), paper=paper))
        means = {method: dataset_means(groups, names, method, value) for method in part.columns}
        summary = [
            sentence for one, other in part.pairs
            for sentence in difference_sentence(one, other, means[one], means[other])
        ]  # fmt: skip
        return self.measure_table(
            part.stem, measure, rows, summary, scope, greater_is_better=None, part=f"{part.title}, "
        )


# Columns of the tables by the paper's column that they are a reading of.
READINGS = {
    **{name: name.removesuffix("-spherical") for name in CLUSTERS},
    **{name: column for column, name in LABELS.items()},
    "svm-standardised": "svm", "hiss-standardised": "hiss", "hiss-labels-standardised": "hiss",
}  # fmt: skip


def printed_variance(name: str, column: str) -> float | None:
    found = [read_printed(table).variance(name, column) for table in TABLES]
    return next((value for value in found if value is not None), None)


TABLES = ("hiss-table2", "hiss-table3")


@paper_table("hiss-readings")
class HissReadings(HissParts):
    """Other readings of both tables: rows, covariances, clusters, labels, an Id column."""

    scales = Scales((3, 0), (10, 0), (10, 0))
    own_datasets = tuple(dict.fromkeys((*PUBLIC, *PAPER_ROWS, *WITH_ID)))
    parts = (
        Part(
            "rows", "Table 2 on the paper's numbers of rows", PAPER_ROWS,
            ("svm", "adaboost", "bagging", "hiss", "bagging-stacked", "adaboost-stacked",
             "rbf-svm", "majority"),
            (("hiss", "svm"), ("hiss", "adaboost"), ("hiss", "bagging"), ("hiss", "rbf-svm")),
        ),
        Part(
            "clusters", "Table 3 with other clusters", PUBLIC, ("hiss", *CLUSTERS),
            tuple(("hiss", name) for name in CLUSTERS),
        ),
        Part(
            "clusters-rows", "Table 3 with other clusters on the paper's numbers of rows",
            PAPER_ROWS, ("hiss", *CLUSTERS), tuple(("hiss", name) for name in CLUSTERS),
        ),
        Part(
            "labels", "stacking on labels", PUBLIC,
            tuple(name for pair in LABELS.items() for name in pair),
            tuple((name, column) for column, name in LABELS.items()),
        ),
        Part(
            "id", "glass with an Id column", WITH_ID,
            ("svm", "adaboost", "bagging", "hiss", "hiss-labels", *STANDARDISED, "rbf-svm"),
        ),
        Part(
            "variances", "Tables 2 and 3", PUBLIC,
            ("svm", "adaboost", "bagging", "hiss", "bagging-stacked", "adaboost-stacked", "em-3",
             "em-10"),
        ),
    )  # fmt: skip

    def printed_error(self, name: str, method: str) -> float | None:
        row, column = name.partition("-")[0], READINGS.get(method, method)
        found = [read_printed(table).value(row, column) for table in TABLES]
        return next((value for value in found if value is not None), None)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        *errors, variances = self.parts
        tables = [
            self.part_table(part, "error", "classification error", groups, scope)
            for part in errors
            if set(part.datasets) & set(scope.datasets)
        ]
        if set(PUBLIC) & set(scope.datasets):
            tables.append(self._variance_table(variances, groups, scope))
        return tables

    def _variance_table(self, part: Part, groups: Groups, scope: PaperScope) -> ResultTable:
        """Make a table of the errors' standard deviations, beside the paper's variances."""
        rows = []
        for name in (each for each in part.datasets if each in scope.datasets):
            for column in part.columns:
                found = groups.get((name, column), [])
                errors = list(by_repeat(found, "error").values())
                ours = float(np.std(errors, ddof=1)) if len(errors) > 1 else None
                repeats = 0 if ours is None else len(errors)
                paper = printed_variance(name, column)
                rows.append(ResultRow(name, column, paper, ours, None, repeats, failed(found)))
        measure = "standard deviation of the error over the splits"
        return self.measure_table(
            part.stem, measure, rows, _variance_sentences(rows), scope, greater_is_better=None
        )


def _variance_sentences(rows: Sequence[ResultRow]) -> list[str]:
    pairs = [(row.paper, row.ours) for row in rows if row.paper and row.ours]
    if not pairs:
        return []
    printed, ours = np.array(pairs).T
    closer = np.abs(np.log(printed / ours)) < np.abs(np.log(printed / ours**2))
    by_deviation, by_variance = (np.exp(np.log(printed / ours**power).mean()) for power in (1, 2))
    text = (
        f"The printed values are {by_deviation:.2g} times our standard deviations and "
        f"{by_variance:.2g} times our variances (geometric means of {len(pairs)}); they are closer "
        f"to the standard deviation in {int(closer.sum())} of {len(pairs)}."
    )
    return [text]


DIVERSITY = {
    "disagreement": "disagreement of two members",
    "q_statistic": "Q statistic",
    "kappa": "kappa of the members",
    "entropy_diversity": "entropy measure",
    "mean_error": "mean error of the members",
}
FOUND = {
    "clusters": "number of clusters with training rows",
    "smallest": "rows in the smallest cluster",
    "single_class": "clusters with a single class",
}
SAMPLED = ("hiss", "bagging", "adaboost")


def member_facts(problem: tuple[Array, Array], method: str, seed: int) -> dict[str, float]:
    """Diversity of the members on the test rows of one split, or facts on the clusters."""
    X_train, X_test, y_train, y_test = train_test_split(*problem, test_size=0.3, random_state=seed)
    scaler, model = MinMaxScaler().fit(X_train), make_methods(seed, len(y_train))[method]
    rows = scaler.transform(X_train)
    with recorded_warnings():
        if method not in SAMPLED:
            stratifier = clone(model.stratifier).set_params(random_state=seed)
            members = stratifier.fit(rows).memberships_ > 0
            shares = [y_train[rows].mean() for rows in members.T if rows.any()]
            return {
                "clusters": float(len(shares)),
                "smallest": float(members.sum(axis=0).min()),
                "single_class": float(np.isin(shares, (0, 1)).sum()),
            }
        labels = member_labels(model.fit(rows, y_train), scaler.transform(X_test))
    if len(labels) == 1:  # AdaBoost may stop after one member: twice the same one is not diverse
        labels = np.repeat(labels, 2, axis=0)
    measures = MemberDiversityDisplay(labels, y_test).measures
    return {name: measures[name] for name in DIVERSITY} | {"members": float(len(labels))}


@paper_table("hiss-members")
class HissMembers(HissParts):
    """Two claims of the paper: diversity of the members, and mixtures with many clusters."""

    scales = Scales((3, 0), (10, 1), (10, 1))
    family = "hiss-members"
    own_datasets = (*PUBLIC, "indoor-stand-in", "outdoor-stand-in")
    parts = (
        Part(
            "diversity", "members", own_datasets, SAMPLED,
            (("hiss", "bagging"), ("hiss", "adaboost")),
        ),
        Part("clusters", "clusters", PUBLIC, (*CLUSTERS, "em-20-random")),
    )  # fmt: skip

    @staticmethod
    @paper_cell(SplitParams)
    def compute(params: SplitParams, data_dir: str | None) -> dict[str, float]:
        problem = binary_problem(params.dataset, data_dir)
        return member_facts(problem, params.method, repeat_seed(params.seed, params.repeat))

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        diversity, clusters = self.parts
        return [
            self.part_table(
                part._replace(stem=value.replace("_", "-")), value, measure, groups, scope
            )
            for part, measures in ((diversity, DIVERSITY), (clusters, FOUND))
            for value, measure in measures.items()
        ]


def make_class_methods(seed: int) -> dict[str, Any]:
    """Unfitted multi-class classifier of each column: direct, one against the rest, output code."""
    methods: dict[str, Any] = {}
    for name, each in (
        ("svm", SVC(kernel="linear")),
        ("hiss", paper_ensemble(random_state=seed)[-1]),
    ):
        methods[name] = each
        methods[f"{name}-rest"] = OneVsRestClassifier(each)
        methods[f"{name}-code"] = OutputCodeClassifier(each, random_state=seed)
    methods["rbf-svm"] = make_pipeline(StandardScaler(), SVC())
    return methods


@paper_table("hiss-multiclass")
class HissMulticlass(HissParts):
    """Multi-class targets: strata directly, and after conversion into binary problems."""

    scales = Scales((3, 0), (10, 0), (10, 0))
    quick_datasets = ("glass-205", "iris")
    family = "hiss-multiclass"
    own_datasets = (*PAPER_ROWS, "iris", "wine", "segment")
    parts = (
        Part(
            "errors", "all classes", own_datasets, tuple(make_class_methods(0)),
            (("hiss-rest", "hiss"), ("hiss-code", "hiss"), ("svm-rest", "svm"),
             ("svm-code", "svm"), ("hiss", "svm"), ("hiss", "rbf-svm")),
        ),
    )  # fmt: skip

    @staticmethod
    @paper_cell(SplitParams)
    def compute(params: SplitParams, data_dir: str | None) -> dict[str, float]:
        problem = class_problem(params.dataset, data_dir)
        seed = repeat_seed(params.seed, params.repeat)
        return {
            "error": fitted_error(problem, lambda _: make_class_methods(seed)[params.method], seed)
        }

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        (part,) = self.parts
        errors = self.part_table(part, "error", "classification error", groups, scope)
        return [errors, self._difference_table(groups, scope)]

    def _difference_table(self, groups: Groups, scope: PaperScope) -> ResultTable:
        """Make a table of the differences of both conversions to the direct ensemble, by split."""
        rows = []
        for name in scope.datasets:
            direct = by_repeat(groups.get((name, "hiss"), []), "error")
            for method in ("hiss-rest", "hiss-code"):
                found = groups.get((name, method), [])
                gains = {
                    repeat: error - direct[repeat]
                    for repeat, error in by_repeat(found, "error").items()
                    if repeat in direct
                }
                rows.append(entry(name, f"{method} less hiss", gains, failures=failed(found)))
        measure = "difference of the classification error on the same split"
        return self.measure_table("differences", measure, rows, [], scope, greater_is_better=False)
