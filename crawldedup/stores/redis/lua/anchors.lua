-- parts: layout, covered
-- Look up which pages held the anchors of a page before. Add the page if its home is here. KEYS: prefix. ARGV: profile, the
-- prefix of the page's home or '', now, ttl or 0, most anchors, page, url, anchors as one string.
-- Returns {'anchors', when the page was added before or -1, {the pages of each anchor, ..}, {page, when, url, ..}},
-- {'profile', the index's profile}, or {'lost'}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local is_home, page, url, anchors = ARGV[2] == PREFIX, ARGV[6], ARGV[7], ARGV[8]
local now, ttl, most = tonumber(ARGV[3]) or tonumber(call('TIME')[1]), tonumber(ARGV[4]), tonumber(ARGV[5])
if is_home and not meta.profile then return {'lost'} end
if not buckets then
  buckets = max(1, min(2 ^ 24, floor(most / ANCHORS_A_BUCKET)))
  if is_home then call('HSET', HEAD, 'buckets', buckets) end
end

local own, _, own_anchors = covered(page)
if own and ttl > 0 and own < now - ttl then
  if is_home then remove_covered(page, own_anchors) end
  own = nil
end

local lists, holders, pages, seen = {}, {}, {}, {}
for at = 1, #anchors, 8 do
  local key, field = field_of(anchors, at)
  local list = call('HGET', key, field) or ''
  -- What came after the page does not count, but for telling how many there are.
  local ending = #list < MOST_BYTES and place_in(list, page) or #list + 1
  lists[#lists + 1], holders[#holders + 1] = list, sub(list, 1, ending - 1)
  for i = 1, #list < MOST_BYTES and ending - 1 or 0, 5 do
    local other = sub(list, i, i + 4)
    if not seen[other] then
      seen[other] = true
      local added, its_url = covered(other)
      if added and not (ttl > 0 and added < now - ttl) then
        local n = #pages
        pages[n + 1], pages[n + 2], pages[n + 3] = other, added, its_url
      end
    end
  end
end

if is_home then
  local mine, given = {}, {}
  for i = 1, #lists do
    local anchor, list = sub(anchors, 8 * i - 7, 8 * i), lists[i]
    given[anchor] = true
    local is_mine = place_in(list, page)
    if is_mine or #list < MOST_BYTES then mine[#mine + 1] = anchor end
    if not is_mine and #list < MOST_BYTES then
      local key, field = field_of(anchor, 1)
      call('HSET', key, field, list .. page)
    end
  end
  if own then
    local stale = {}
    for at = 1, #own_anchors - 7, 8 do
      local anchor = sub(own_anchors, at, at + 7)
      if not given[anchor] then stale[#stale + 1] = anchor end
    end
    take_from(page, concat(stale))
  end
  call('SET', PAGE .. page, struct.pack('>I4I4', own or now, #url) .. url .. concat(mine))
  if not own then
    total = call('HINCRBY', HEAD, 'total', #mine)
    call('RPUSH', QUEUE, page .. struct.pack('>I4I6', now, total - #mine))
  end
  retire(now, ttl, most, 4)
end
return {'anchors', own or -1, holders, pages}
