"""Read what files hold, one at a time and unchanged: items of feeds and tables, records of web archives."""
