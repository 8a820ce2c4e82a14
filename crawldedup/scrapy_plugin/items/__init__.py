"""Items: their texts, and verdicts in their fields."""
