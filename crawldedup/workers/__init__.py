"""Worker processes that read pages, with limits of time and memory."""
