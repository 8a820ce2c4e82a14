-- parts: directory
-- Tell the home that is noted for a URL, and note one. KEYS: prefix. ARGV: profile, and what `claim` takes and returns.

return claim(ARGV[1], ARGV[2])
