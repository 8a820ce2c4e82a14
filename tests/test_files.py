from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.files import opened_for_reading, opened_for_writing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("file", [5, None, ["x"]])
def test_what_is_no_file_is_refused(file: Any) -> None:
    for opened in (opened_for_reading, opened_for_writing):
        with pytest.raises(ConfigurationError, match="it must be a path or a binary stream"), opened(file):
            pass


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, opened_for_writing(tmp_path / "missing" / "index.gz"):
        pass
    assert caught.value.filename == str(tmp_path / "missing")
    assert "no such folder" in str(caught.value)
