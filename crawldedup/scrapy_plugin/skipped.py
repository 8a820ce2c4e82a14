"""Keep skipped requests in a file while a job is paused, and record them in the journal.

They are pickled, like Scrapy's own queues.
"""

import pickle
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict

from crawldedup.scrapy_plugin.middleware import DedupMiddleware


def file_of_job(crawler: Crawler, name: str) -> Path | None:
    """Return the path of a file in the job directory, or None if the crawl isn't a job."""
    directory = job_dir(crawler.settings)
    return Path(directory, name) if directory else None


def write_to_journal(crawler: Crawler, record: dict[str, Any]) -> None:
    """Write a line to the journal of a crawl, if there is one."""
    dedup = crawler.get_downloader_middleware(DedupMiddleware)
    if dedup is not None:
        dedup.journal.put(record)


def read_requests(path: Path, spider: Spider | None) -> Iterator[Request]:
    """Yield the requests in a file that an earlier run of the job skipped, if the file exists."""
    for plain in pickle.loads(path.read_bytes()) if path.exists() else ():
        yield request_from_dict(pickle.loads(plain), spider=spider)


def write_requests(path: Path, requests: Iterable[Request], spider: Spider | None) -> None:
    """Save skipped requests in a file for the next run of the job.

    Requests that can't be serialized are left out.
    """
    plain = []
    for request in requests:
        # Its callback or meta can't be serialized, and Scrapy couldn't save it either.
        with suppress(ValueError, TypeError, AttributeError, pickle.PicklingError):
            plain.append(pickle.dumps(request.to_dict(spider=spider)))
    path.write_bytes(pickle.dumps(plain))
