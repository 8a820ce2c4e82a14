-- parts: layout
-- Look at the index as a whole. KEYS: prefix. ARGV: profile. Answers {'pages', how many} or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
return {'pages', meta.pages}
