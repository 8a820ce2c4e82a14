"""The four stages of datatrove's MinHash deduplication, as its example has them, run with
datatrove's own Python.

The arguments are JSON: `texts`, a folder with a file for each worker, `output`, `language`, and the
`config` of MinHash. Without a language, words are split at spaces, which is enough for these texts
and many times faster than the tokenizer for English. The last line of the output has the seconds of
each stage as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.word_tokenizers import WordTokenizer


class Spaces(WordTokenizer):  # type: ignore[misc]
    def word_tokenize(self, text: str) -> list[str]:
        return text.split()

    def sent_tokenize(self, text: str) -> list[str]:
        raise NotImplementedError

    def span_tokenize(self, text: str) -> list[tuple[int, int]]:
        raise NotImplementedError


def main(given: dict[str, Any]) -> None:
    output = Path(given["output"])
    signatures, buckets, removed = (
        str(output / name) for name in ("signatures", "buckets", "removed")
    )
    workers = len(list(Path(given["texts"]).iterdir()))
    config = MinhashConfig(**given["config"])
    reader = JsonlReader(given["texts"])
    stages: dict[str, tuple[list[Any], int]] = {
        "signatures": (
            [reader, MinhashDedupSignature(signatures, config, given["language"] or Spaces())],
            workers,
        ),
        "buckets": ([MinhashDedupBuckets(signatures, buckets, config=config)], config.num_buckets),
        "clusters": ([MinhashDedupCluster(buckets, removed, config=config)], 1),
        "filter": (
            [
                reader,
                MinhashDedupFilter(removed),
                JsonlWriter(str(output / "kept"), compression=None),
            ],
            workers,
        ),
    }
    seconds = {}
    for name, (pipeline, tasks) in stages.items():
        started = time.perf_counter()
        logs = str(output / "logs" / name)
        LocalPipelineExecutor(
            pipeline=pipeline, tasks=tasks, workers=min(tasks, workers), logging_dir=logs
        ).run()
        seconds[name] = time.perf_counter() - started
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
