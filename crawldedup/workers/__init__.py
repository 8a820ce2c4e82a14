"""What processes that read pages have in common, whoever starts them: their messages, and their
bounds.
"""
