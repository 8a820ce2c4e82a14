-- parts: layout, anchors
-- Look up which pages held the anchors of a page before, and add the page. KEYS: prefix. ARGV: profile, 1 to add the page or
-- 0, now, ttl or 0, the limit of anchors, page, url, anchors as one string.
-- Returns {1 if the page was added before, {the pages of each anchor, ..}, {page, its URL, ..}}, {'profile', the index's
-- profile}, or {'lost'}.

if meta.profile and meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local adds, page, url, anchors = ARGV[2] == '1', ARGV[6], ARGV[7], ARGV[8]
local now, ttl, most = now_from(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local MOST_BYTES = 40 -- of a list: 8 pages
if adds and not meta.profile then return {'lost'} end
if not buckets then
  buckets = max(1, min(2 ^ 24, floor(most / 64)))
  if adds then call('HSET', ANCHORS, 'buckets', buckets) end
end

local own, _, own_anchors = covered(page)
if own and ttl > 0 and own < now - ttl then
  if adds then remove_covered(page, own_anchors) end
  own = nil
end

local lists, holders, pages, seen = {}, {}, {}, {}
for at = 1, #anchors, 8 do
  local key, field = field_of(anchors, at)
  local list = call('HGET', key, field) or ''
  -- Ignore later pages, but count them.
  local ending = #list < MOST_BYTES and place_in(list, page) or #list + 1
  lists[#lists + 1], holders[#holders + 1] = list, sub(list, 1, ending - 1)
  for i = 1, #list < MOST_BYTES and ending - 1 or 0, 5 do
    local other = sub(list, i, i + 4)
    if not seen[other] then
      seen[other] = true
      local added, its_url = covered(other)
      if added and not (ttl > 0 and added < now - ttl) then pages[#pages + 1], pages[#pages + 2] = other, its_url end
    end
  end
end
local reply = {own and 1 or 0, holders, pages}
if not adds then return reply end

local mine, given, stale = {}, {}, {}
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
for at = 1, own and #own_anchors - 7 or 0, 8 do
  local anchor = sub(own_anchors, at, at + 7)
  if not given[anchor] then stale[#stale + 1] = anchor end
end
take_from(page, concat(stale))
call('SET', PAGE .. page, struct.pack('>I4I4', own or now, #url) .. url .. concat(mine))
if own then return reply end

total = call('HINCRBY', ANCHORS, 'total', #mine)
call('RPUSH', QUEUE, page .. struct.pack('>I4I6', now, total - #mine))
-- Remove up to four of the oldest pages that exceed the limits.
for _ = 1, 4 do
  local first = call('LINDEX', QUEUE, 0)
  local added, before
  if first and #first == 15 then added, before = struct.unpack('>I4I6', first, 6) end
  if not added or not (ttl > 0 and added < now - ttl or total - before > most) then break end
  call('LPOP', QUEUE)
  local oldest = sub(first, 1, 5)
  local kept, _, anchors_kept = covered(oldest)
  -- It may have been forgotten and added again in the meantime.
  if kept == added then remove_covered(oldest, anchors_kept) end
end
return reply
