"""Explain verdicts, and compare two pages."""
