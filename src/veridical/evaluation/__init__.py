"""Detection quality on labelled data: data sets, metrics, the harness, baselines, reports.

Built on the public API only; what is measured here is what a user of `Verifier.verify` gets.
"""
