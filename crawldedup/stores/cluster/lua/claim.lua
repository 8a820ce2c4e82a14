-- parts: layout, directory
-- Tell the home that is noted for a URL, and note another. KEYS: prefix. ARGV: profile, and what `claim` takes: now, ttl,
-- limit of pages (4 bytes each), 1 if forced, URL key, home, entries to release. Returns {'claimed', pages, former home},
-- {'profile', the index's profile}, or {'lost'} without an index.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
return {'claimed', meta.pages, claim(ARGV[2])}
