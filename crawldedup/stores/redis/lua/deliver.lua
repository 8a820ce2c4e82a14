-- parts: layout, records, crawlers
-- Note that pages were delivered. KEYS: prefix. ARGV: their URL keys as one string, and the number of their crawler. Returns 1.

mark_delivered(ARGV[1], tonumber(ARGV[2]))
return 1
