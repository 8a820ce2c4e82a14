-- parts: layout, leases, records, deliveries
-- Note that pages were delivered. KEYS: prefix. ARGV: their URL keys as one string, and the number
-- of their crawler. Returns 1.

deliver(ARGV[1], tonumber(ARGV[2]))
return 1
