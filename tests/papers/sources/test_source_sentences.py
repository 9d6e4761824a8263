from ensemblage.papers._paper_rows import entry
from ensemblage.papers.sources._source_sentences import (
    held_sentence,
    loss_sentences,
    promise_sentences,
    recalibration_sentences,
)


def test_losses_are_compared_dataset_by_dataset():
    rows = [entry("heart", "partial pooling", [0.9]), entry("heart", "careful pick", [1.0]),
            entry("wine", "partial pooling", [0.4]),
            entry("wine", "careful pick", [0.5])]  # fmt: skip
    [said] = loss_sentences(rows, "log loss", "careful pick")
    assert said == (
        "partial pooling against careful pick: log loss -15.0% on average (median -15.0%), lower "
        "on 2 of 2 datasets."
    )
    assert loss_sentences([], "log loss", "careful pick") == []


def test_promises_and_bounds():
    rows = [
        entry("a", "ordinary folds promise", [0.1]), entry("a", "truth", [0.3, 0.3]),
        entry("a", "leave-sources-out promises", []),
        entry("a", "share below the bound", [1.0, 0.0]),
        entry("b", "share below the bound", [1.0, 1.0]),
    ]  # fmt: skip
    assert promise_sentences(rows) == [
        "What ordinary folds promise is 0.200 from the truth on average (1 rows)."
    ]
    assert held_sentence(rows) == ["The bound for nine in ten held for 75% of 4 new sources."]
    assert held_sentence([]) == []


def test_recalibration_names_where_it_helps_least():
    rows = [entry("a", "20 rows", [-4.0]), entry("b", "20 rows", [1.0])]
    [said] = recalibration_sentences(rows, ["20 rows"])
    assert said == (
        "20 rows of the new source change its log loss by -1.5 % on average; least to its good: "
        "+1.0 % (b)."
    )
