"""The messages and limits that all processes that read pages have in common, no matter what starts
them.
"""
