-- parts: directory, layout, records, search
-- Find the nearest page, and change no page. KEYS: prefix. ARGV: profile, a question, and what `claim` takes, or ''.
-- Returns {'scouted', pages, home noted before or '', compared, cost, record or false}; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local claimed = #ARGV[8] > 0 and claim(ARGV[1], ARGV[8]) or {'', 0, ''}
if claimed.err then return claimed end
local matches, compared = search(read_question())
local nearest = matches[1] or {0, 0, false}
return {'scouted', meta.pages, claimed[3], compared, nearest[1], nearest[3]}
