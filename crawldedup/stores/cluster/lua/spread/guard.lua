-- Refuses to work on an index that is gone or another program's. ARGV[1]: profile.
-- Answers {'lost'} or {'profile', the index's profile}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
