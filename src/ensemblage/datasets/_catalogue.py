"""The datasets of the papers: public UCI sets, with their OpenML ids and shapes."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """What is known about a dataset before it is read."""

    openml_id: int | None
    n_rows: int
    n_features: int


class Bundled(NamedTuple):
    """A dataset that scikit-learn brings along, and the name of its loader there.

    One of numbers has the name that the column of these is given.
    """

    loader: str
    n_rows: int
    n_features: int
    number: str | None = None


PAPER_DATASETS = {
    "abalone": Known(183, 4177, 8),
    "breast-w": Known(15, 699, 9),
    "credit-a": Known(29, 690, 15),
    "ecoli": Known(39, 336, 7),
    "glass": Known(41, 214, 9),
    "heart-c": Known(49, 303, 13),
    "heart-statlog": Known(53, 270, 13),
    "hepatitis": Known(55, 155, 19),
    "iris": Known(61, 150, 4),
    "labor": Known(4, 57, 16),
    "letter": Known(6, 20000, 16),
    "liver": Known(None, 345, 6),
    "lymph": Known(10, 148, 18),
    "optdigits": Known(28, 5620, 64),
    "pendigits": Known(32, 10992, 16),
    "pima": Known(37, 768, 8),
    "segment": Known(36, 2310, 19),
    "sonar": Known(40, 208, 60),
    "tic-tac-toe": Known(50, 958, 9),
    "vehicle": Known(54, 846, 18),
    "vote": Known(56, 435, 16),
    "vowel": Known(307, 990, 13),
    "waveform": Known(60, 5000, 40),
    "wine": Known(187, 178, 13),
    "yeast": Known(181, 1484, 8),
}

BUNDLED = {
    "iris": Bundled("load_iris", 150, 4),
    "wine": Bundled("load_wine", 178, 13),
    "breast-cancer": Bundled("load_breast_cancer", 569, 30),
    "digits": Bundled("load_digits", 1797, 64),
    "diabetes": Bundled("load_diabetes", 442, 10, number="progression"),
}
