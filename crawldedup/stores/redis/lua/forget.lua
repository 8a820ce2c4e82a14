-- parts: layout, leases, records, deliveries, writing
-- Remove the page with a URL key. KEYS: prefix. ARGV: URL key. Returns 1 if there was one, else 0.

local page, record = page_with_url(ARGV[1])
if not page then return 0 end
remove_page(page, record)
arrive(ARGV[1])
return 1
