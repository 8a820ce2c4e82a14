"""What a crawl needs beside its verdicts: failures, refused settings, pages seen, open browser tabs."""
