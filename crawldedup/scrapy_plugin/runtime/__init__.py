"""What a crawl needs beside its verdicts: failures, refused settings, interactive commands, open browser tabs."""
