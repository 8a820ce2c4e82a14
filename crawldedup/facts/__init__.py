"""What tells products apart whose pages read alike."""
