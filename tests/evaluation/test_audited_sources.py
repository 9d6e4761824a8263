from ensemblage.evaluation import AuditedSource, ColumnShift, SourceAudit

NORTH = AuditedSource(
    "north", 10, 0.1, 0.3, 0.2, 0.5, 0.21, 0.1, 0.4, 0.4, 0.6, 0.9, 0.8, 1.0, -0.5, -0.9, -0.1, 0.85
)  # fmt: skip


def made(**changes):
    facts = {
        "sources": (NORTH,), "label": 1, "error": 0.1, "log_loss": 0.3, "new_error": 0.2,
        "new_error_low": 0.12, "new_error_high": 0.28, "new_log_loss": 0.5,
        "error_bound": 0.35, "recognised": 0.9, "recognised_by_chance": 0.5,
        "shifts": (ColumnShift("age", 0.7, "north", "61", "40"),), "worst": "north",
        "remedy": "it is hard.",
    }  # fmt: skip
    return SourceAudit(**(facts | changes))


def test_sentences_say_what_the_figures_are():
    assert made().sentences == (
        made().promise,
        "The columns tell the source of 90% of the rows (the largest source alone: 50%).",
        "age differs most between sources: 61 in north, 40 elsewhere.",
        "Worst when left out is north: it is hard.",
    )
    assert made().promise == (
        "On a new source expect an error of 0.200 (averaged over many: 0.12 to 0.28); ordinary "
        "folds promise 0.100. Nine in ten new sources should stay below 0.350."
    )
    assert made(error_bound=1.0).promise.endswith("too few to tell how bad it can get.")
    assert made().ratio == 2.0
    assert made(error=0.0).ratio == float("inf")


def test_the_table_has_a_row_per_source():
    shown = str(made()).splitlines()[-1].split()
    assert shown[:5] == ["north", "10", "0.100", "0.200", "0.10-0.40"]
    assert shown[-1] == "85%"
