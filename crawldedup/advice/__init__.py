"""Mine rules for URLs from the verdicts of a crawl: which part of a URL never changes what the page says.

A rule rewrites a URL to that of another page with the same text. Candidates are what differs between the URLs of copies
of one content. Each is held against all pages of its site: pages that a rule takes for one and that are not copies of
each other count against it, and so do copies that lead to pages to which their twins do not. See Bar-Yossef, Keidar and
Schonfeld, "Do not crawl in the DUST: different URLs with similar text" (2007), for the method.
"""
