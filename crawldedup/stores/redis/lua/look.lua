-- parts: layout
-- Count the pages. KEYS: prefix. ARGV: profile. Returns {'pages', count} or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
return {'pages', meta.pages}
