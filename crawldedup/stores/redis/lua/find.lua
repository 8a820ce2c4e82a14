-- parts: layout, records, marks, search
-- Find pages and change nothing. KEYS: prefix. ARGV: profile, a question.
-- Returns {record, ..}, nearest first and including siblings, or {'profile', the index's profile}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local matches, _, _, _, siblings = search(read_question())
for i = 1, #siblings do matches[#matches + 1] = siblings[i] end
table.sort(matches, is_nearer)
for i = 1, #matches do matches[i] = matches[i][3] end
return matches
