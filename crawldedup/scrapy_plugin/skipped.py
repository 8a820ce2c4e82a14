"""Keep the requests that were skipped over the pause of a job. Scrapy's own queues are pickled,
too.
"""

import pickle
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict


def read_requests(path: Path, spider: Spider | None) -> Iterator[Request]:
    """Yield the requests that an earlier run of a job has skipped."""
    for plain in pickle.loads(path.read_bytes()) if path.exists() else ():
        yield request_from_dict(pickle.loads(plain), spider=spider)


def write_requests(path: Path, requests: Iterable[Request], spider: Spider | None) -> None:
    """Write skipped requests for the next run of a job."""
    plain = []
    for request in requests:
        # Its callback or its meta cannot be written, and Scrapy would not keep it either.
        with suppress(ValueError, TypeError, AttributeError, pickle.PicklingError):
            plain.append(pickle.dumps(request.to_dict(spider=spider)))
    path.write_bytes(pickle.dumps(plain))
