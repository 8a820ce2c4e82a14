-- parts: layout, records, marks, crawlers, writing, anchors
-- Remove a page and its anchors. KEYS: prefix. ARGV: URL key, 1 to remove only the anchors or 0, bytes of a signature.
-- Returns how many of both there were.

signature_end = HEAD + tonumber(ARGV[3])
local gone = 0
local page, record = page_with_url(ARGV[1])
if page and ARGV[2] == '0' then
  remove_page(page, record)
  unmark(ARGV[1])
  gone = 1
end
local holder = sub(ARGV[1], 1, 5)
local added, _, anchors = covered(holder)
if not added then return gone end
remove_covered(holder, anchors)
return gone + 1
