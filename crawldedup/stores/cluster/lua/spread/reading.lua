-- The part of the permuted tables that holds the keys with certain four leading bits, of an index that is spread over a
-- cluster. Every key is kept with these bits behind the following 32: the order of the rest is that of the bits that
-- differ here. The pages are elsewhere: a page is known here by 4 bytes, 4 bits of its home and 28 of its number there.
--
-- Beside the tables and filters of layout.lua, of which there are no records and URLs here:
--   <e>:l   list: what was filed last: table (1 byte), member of the table
-- and in the head, `pages` is the number of members of all tables, `next` how often something was filed.

local LOG = DATA .. 'l'

-- Pages as they are told: page (4 bytes), what the key rule says (2), number of the probe that found it (2).
local function told(pages, costs, finders)
  local packed = {}
  for i = 1, #pages do packed[i] = struct.pack('>I4I2I2', pages[i], costs[pages[i]], finders[pages[i]] or 0) end
  return concat(packed)
end

local function look(question)
  return told(pages_in_ranges(question))
end

-- The pages that were filed after the first `since` filings and whose keys the rule does not refuse.
local function filed_since(question, since)
  local count = meta.next - since
  if count == 0 then return '' end
  if count < 0 or count > call('LLEN', LOG) then return look(question) end
  local by_rule = #question.key_costs > 0
  local pages, costs = {}, {}
  local members = call('LRANGE', LOG, -count, -1)
  for i = 1, #members do
    local member = sub(members[i], 2)
    local page = page_of(member)
    local cost = by_rule and key_cost(question, byte(members[i]), member) or not by_rule and 0
    if cost and not costs[page] then
      pages[#pages + 1] = page
      costs[page] = cost
    end
  end
  return told(pages, costs, {})
end
