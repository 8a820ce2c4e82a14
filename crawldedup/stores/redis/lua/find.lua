-- parts: layout, records, search
-- Find pages and change nothing. KEYS: prefix. ARGV: profile, a question.
-- Returns {record, ..}, nearest first, or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local matches = search(read_question())
for i = 1, #matches do matches[i] = matches[i][3] end
return matches
