-- parts: layout, spread_guard, records, writing, home_filing, home_removing
-- Remove the page with a URL key. KEYS: prefix. ARGV: profile, url key. Answers {'forgotten', pages, what was removed..}.

local page, record = page_with_url(ARGV[2])
if page then remove_page(page, record) end
return {'forgotten', meta.pages, unpack(removed)}
