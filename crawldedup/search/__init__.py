"""Finding and judging: tables, flip model, probe plans, decision."""
