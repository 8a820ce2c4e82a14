-- parts: layout, directory
-- Tell the home that is noted for a URL, and note one. KEYS: prefix. ARGV: profile, and what `claim` takes. Returns {'claimed',
-- pages, home noted before or ''}; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local former = claim(ARGV[2])
return type(former) == 'table' and former or {'claimed', meta.pages, former}
