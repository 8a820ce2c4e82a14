"""Reading pages beside the event loop."""
