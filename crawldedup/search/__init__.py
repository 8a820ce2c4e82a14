"""Finds near duplicates: tables, flip model, probe plans, decision."""
