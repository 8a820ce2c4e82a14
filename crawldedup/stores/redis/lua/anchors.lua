-- parts: layout, covered
-- Look up which pages hold the anchors of a page. Add the page if its home is here. KEYS: prefix. ARGV: profile, the
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

local holders, pages, seen = {}, {}, {[page] = true}
for at = 1, #anchors, 8 do
  local key, field = field_of(anchors, at)
  local list = call('HGET', key, field) or ''
  holders[#holders + 1] = list
  for i = 1, #list < MOST_BYTES and #list or 0, 5 do
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
  for i = 1, #holders do
    local anchor = sub(anchors, 8 * i - 7, 8 * i)
    given[anchor] = true
    local is_mine = without(holders[i], page)
    if is_mine or #holders[i] < MOST_BYTES then mine[#mine + 1] = anchor end
    if not is_mine and #holders[i] < MOST_BYTES then
      local key, field = field_of(anchor, 1)
      call('HSET', key, field, holders[i] .. page)
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
