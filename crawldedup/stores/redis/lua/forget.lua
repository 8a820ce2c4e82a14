-- parts: layout, records, writing
-- Remove the page with a URL key. KEYS: prefix. ARGV: url key. Answers 1 if there was one.

local page, record = page_with_url(ARGV[1])
if not page then return 0 end
remove_page(page, record)
return 1
