"""The parts of `whole_site.py`: a site whose responses name their content in a header, its server,
a crawl, and the figures.
"""
