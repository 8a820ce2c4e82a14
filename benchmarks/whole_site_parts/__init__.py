"""The parts of `whole_site.py`: a site with truth in a header, its server, a crawl, and the
figures.
"""
