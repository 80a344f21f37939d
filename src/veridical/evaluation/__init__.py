"""Detection quality on labelled data: data sets, metrics, the harness, baselines, reports.

Built on the public API only; the figures are those of a user of `Verifier.verify`.
"""
