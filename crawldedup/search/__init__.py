"""The mathematics of near duplicates: flip model, decision, tables and probe plans."""
