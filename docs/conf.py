"""Configuration of the documentation site: `sphinx-build -W -b html docs OUTPUT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import crawldedup

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "crawldedup"
author = "The crawldedup developers"
copyright = author
release = crawldedup.__version__

# sphinx_scrapy brings autodoc, intersphinx, sphinx_copybutton and the roles setting, reqmeta,
# signal, stat and command.
extensions = ["sphinx_scrapy", "sphinx.ext.napoleon", "myst_parser", "generated_reference"]
exclude_patterns = ["_build"]
html_theme = "sphinx_rtd_theme"
html_title = f"crawldedup {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
# A quote in a setting's help is to be pasted.
smartquotes = False

# The button of a block copies what is typed: without prompts, and without the output below them.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
# A command that goes on in the next line is copied as a whole.
copybutton_line_continuation_character = "\\"

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings write names in single backticks.
default_role = "code"
napoleon_numpy_docstring = False
# A list, as that of the arguments: the types stand in the signature.
napoleon_custom_sections = [("Attributes", "params_style")]
# Apache Spark is too large to be installed for its signatures.
autodoc_mock_imports = ["pyarrow", "pyspark"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

# A reference to a name of ours must lead somewhere.
nitpicky = True
# Types in signatures that no page describes: type variables and aliases, the keyword arguments that
# stand for `Options` and `Page`, and values that only the components pass to each other.
_INNER = (
    r"crawldedup\..*\.(T|_Keys|_Token|Item|Paragraph|OptionValues|PageValues|SparkOptionValues|"
    r"CrawlOptions|Judged|PageContent|ReadPage|HostKnowledge|HeadLinks|Conflict)"
)
nitpick_ignore_regex = [
    (r"std:.*", r"(?!(CRAWLDEDUP_|crawldedup)).*"),
    (r"py:.*", r"(?!crawldedup\.).*"),
    (r"py:class", _INNER),
]

# A build without a network must not warn about inventories it cannot fetch. Links into the
# documentation of Python, Scrapy and redis-py are plain text then.
online = "READTHEDOCS" in os.environ or "CRAWLDEDUP_DOCS_ONLINE" in os.environ
if online:
    intersphinx_mapping = {"redis": ("https://redis.readthedocs.io/en/stable/", None)}
else:
    scrapy_intersphinx_disable = ["python", "scrapy"]

# A module's page of source code links back by one name of the module, and some objects have two.
viewcode_follow_imported_members = False
