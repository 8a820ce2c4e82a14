"""Parts of `benchmarks/report.py`."""
