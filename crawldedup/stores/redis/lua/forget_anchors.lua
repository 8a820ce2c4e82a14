-- parts: layout, covered
-- Remove what is kept of the paragraphs of a page. KEYS: prefix. ARGV: page. Returns 1 if there was anything, else 0.

local added, _, anchors = covered(ARGV[1])
if not added then return 0 end
remove_covered(ARGV[1], anchors)
return 1
