"""A crawl to try crawldedup on: a local site with real near duplicates, or any directory of HTML files."""

from crawldedup.demo.result import DemoResult
from crawldedup.demo.run import DemoOptions, Progress, run_demo

__all__ = ["DemoOptions", "DemoResult", "Progress", "run_demo"]
