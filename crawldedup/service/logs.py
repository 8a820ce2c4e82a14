"""Logs as lines of JSON in ASCII: nothing that a client or a page says can forge a line or move a cursor."""

import json
import logging
import sys
from datetime import UTC, datetime

from crawldedup.printable import printable

_LONGEST_TRACE = 8000


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON. The dictionary `fields`, given as `extra`, is merged into it."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": printable(record.getMessage()),
            "process": record.process,
        }
        for name, value in getattr(record, "fields", {}).items():
            values[name] = printable(value) if isinstance(value, str) else value
        if record.exc_info:
            values["trace"] = self.formatException(record.exc_info)[-_LONGEST_TRACE:]
        return json.dumps(values, default=str)


def log_to_stderr(level: str) -> None:
    """Send every log of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # They tell of each connection and step; what counts of it has lines of ours.
    for name in ("uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
