"""Compare pages paragraph by paragraph."""
