-- parts: layout, directory, leases, records, deliveries, costs, search
-- Find the nearest page, and change no page. KEYS: prefix. ARGV: profile, a question, and what `claim` takes, or ''.
-- Returns {'scouted', pages, home noted before or '', compared, costs of the pages that resemble this one (those that count,
-- nearest first), cost and record of the nearest, or 0 and false}; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local former = #ARGV[9] > 0 and claim(ARGV[9]) or ''
if type(former) == 'table' then return former end
local question = read_question()
local matches, compared = resembling(question)
local costs = {}
for i = 1, min(#matches, #question.crowd.limits) do costs[i] = struct.pack('>I4', matches[i][1]) end
local place = 1
while matches[place] and is_abandoned(matches[place][3], 0, question.now) do place = place + 1 end
local nearest = matches[place] or {0, 0, false}
return {'scouted', meta.pages, former, compared, concat(costs), nearest[1], nearest[3]}
