"""Models of strata: their members, their map, and who decided about a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.evaluation import StrataDisplay
from ensemblage.explain._explanation import (
    Explanation,
    ModelPage,
    Subject,
    saved_picture,
    spread,
)
from ensemblage.explain._strata_blocks import (
    closest_bars,
    members_table,
    members_text,
    strata_summary,
    voices_blocks,
    voices_text,
)
from ensemblage.explain._strata_cards import strata_names, strata_section
from ensemblage.explain._strata_facts import RowFacts, StrataFacts, row_facts, strata_facts
from ensemblage.explain._strata_map import strata_map
from ensemblage.messages import count, plain_name
from ensemblage.pages import Section, TableBlock, TextBlock
from ensemblage.parallel import final_step
from ensemblage.strata import StrataEnsembleClassifier, StrataEnsembleRegressor

NO_ROWS = "A map needs rows to show: name a file after the model."


@dataclass(frozen=True)
class StrataExplanation(Explanation):
    """The members of a strata ensemble, and a row's way through them if one was named."""

    has = "strata"
    documents = (StrataFacts, RowFacts)
    draws_rows = True

    facts: StrataFacts
    story: RowFacts | None = None
    subject: Subject | None = None
    """With rows to map; None without."""

    @classmethod
    def explains(cls, estimator: Any) -> bool:
        """Recognise the ensemble by its class."""
        return isinstance(estimator, StrataEnsembleClassifier | StrataEnsembleRegressor)

    @classmethod
    def learned(cls, estimator: Any, columns: Sequence[str]) -> Iterator[str]:
        """Tell the sizes of the strata, how they overlap, and what was fitted on them."""
        del columns
        memberships = final_step(estimator.stratifier_).memberships_
        sizes = estimator.member_sizes_
        kinds = Counter(type(final_step(each)).__name__ for each in estimator.estimators_)
        # A stratum of one value has a constant member; the others are what was asked for.
        member = max(kinds, key=lambda kind: (not kind.startswith("Dummy"), kinds[kind]))
        yield f"{len(sizes)} strata of {spread(sizes)} of the {len(memberships)} rows"
        often = (memberships > 0.5).sum(axis=1)
        yield _overlap(often)
        fusion = plain_name(type(estimator.fusion_).__name__)
        yield f"one {plain_name(member)} per stratum, fused by {fusion}"
        n_constant = len(estimator.constant_strata_)
        if n_constant:
            value = "class" if hasattr(estimator, "classes_") else "value"
            yield f"{n_constant} of {estimator.n_strata_} strata hold one {value} only"

    @classmethod
    def of(cls, subject: Subject) -> StrataExplanation:
        """Describe the members, and the row that is asked for."""
        story = None if subject.row is None else row_facts(subject, subject.row)
        return cls(strata_facts(subject), story, None if subject.X is None else subject)

    @property
    def document(self) -> StrataFacts | RowFacts:
        """The row's way if there is one, else the members."""
        return self.facts if self.story is None else self.story

    def text(self) -> list[str | TableBlock]:
        """List the members, or who decided about the row."""
        return members_text(self.facts) if self.story is None else voices_text(self.story)

    def page(self) -> ModelPage:
        """Show the row, the map, the members."""
        facts, story, subject = self.facts, self.story, self.subject
        names = strata_names(facts)
        shares = None if story is None else [
            each.weight or 0.0 for each in story.members if each.membership is not None
        ]  # fmt: skip
        sections = [
            Section("What the strata are", strata_section(facts)),
            Section(
                "Map",
                [TextBlock([NO_ROWS]) if subject is None else strata_map(subject, names, shares)],
            ),
            Section("Members", [closest_bars(facts), members_table(facts)]),
        ]
        if story is not None:
            sections.insert(0, Section(f"Row {story.row}", voices_blocks(story)))
        known = [
            ("strata", str(facts.n_strata)),
            ("members", str(len(facts.members))),
            ("stratifier", facts.stratifier),
            ("fusion", plain_name(facts.fusion)),
        ]
        return ModelPage(strata_summary(facts), known, sections)

    def draw(self, picture: str = "png") -> bytes:
        """Draw the map; needs rows."""
        subject = self.subject
        if subject is None:
            raise ValueError("A map of strata needs rows to show: give `X`.")
        classes = subject.y if hasattr(final_step(subject.model), "classes_") else None
        display = StrataDisplay.of_model(subject.model, subject.X, classes)
        return saved_picture(display.plot(mark=subject.row), picture)


def _overlap(often: NDArray[np.int64]) -> str:
    """Say in how many strata rows are, and how many are in none."""
    if often.min() == often.max() == 1:
        return "every row is in one stratum"
    alone = int((often == 0).sum())
    are = "is" if alone == 1 else "are"
    outside = f"; {count(alone, 'row')} {are} in none" if alone else ""
    return f"a row is in {spread(often)} strata{outside}"
