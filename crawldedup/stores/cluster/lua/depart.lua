-- parts: layout, leases, records, deliveries
-- Note that a crawler has a page on its way. KEYS: prefix. ARGV: URL key, number of the crawler. Returns 1.

set_out(ARGV[1], ARGV[2])
return 1
