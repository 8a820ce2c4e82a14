-- Decide about a page and remember it. KEYS: prefix. ARGV: see RedisStore.check_and_add.
-- Answers {status, changed, pages, candidates, record or false} or {'profile', the index's profile}.

local profile, order, now, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local crawler, first_crawler, lease = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local url_key, keys, body = ARGV[8], ARGV[9], ARGV[10]
local digest, query = ARGV[11], read_question(keys, 12)

now = now or tonumber(redis.call('TIME')[1])
local oldest = ttl and now - ttl or 0

if meta.profile and meta.profile ~= profile then return {'profile', meta.profile} end

-- Writes start here: a server without room refuses the first of them, and nothing was half done.
if not meta.profile then
  -- The index is new, or was lost under our feet: begin it again with this crawler as its first.
  redis.call('HSET', META, 'profile', profile, 'order', order, 'crawlers', crawler, 'first', first_crawler)
  redis.call('ZADD', PREFIX .. 'c', now + lease, crawler)
elseif crawler > meta.crawlers then
  -- Another crawler began it again before us: no third one may be given our number.
  redis.call('HSET', META, 'crawlers', crawler)
end

local function file(page)
  for number = 0, #keys / 8 - 1 do
    local key = sub(keys, number * 8 + 1, number * 8 + 8)
    redis.call('ZADD', bucket_key('t' .. number, key), 0, member_of(key, page))
  end
end

local function split_one(table_name)
  local from = PREFIX .. table_name .. ':' .. (2 ^ meta.depth + meta.split)
  local members = redis.call('ZRANGE', from, 0, -1)
  if #members == 0 then return end
  local middle = (2 * meta.split + 1) * 2 ^ (31 - meta.depth)
  local halves = {{}, {}}
  for i = 1, #members do
    local half = halves[leading(members[i]) < middle and 1 or 2]
    half[#half + 1] = 0
    half[#half + 1] = members[i]
  end
  for side = 1, 2 do
    local to = PREFIX .. table_name .. ':' .. (2 ^ (meta.depth + 1) + 2 * meta.split + side - 1)
    for first = 1, #halves[side], 1000 do
      redis.call('ZADD', to, unpack(halves[side], first, math.min(first + 999, #halves[side])))
    end
  end
  redis.call('UNLINK', from)
end

local function grow()
  if meta.pages <= BUCKET_PAGES * (2 ^ meta.depth + meta.split) or meta.depth >= 28 then return end
  for number = 0, #keys / 8 - 1 do split_one('t' .. number) end
  split_one('u')
  meta.split = meta.split + 1
  if meta.split == 2 ^ meta.depth then
    meta.depth, meta.split = meta.depth + 1, 0
  end
  redis.call('HSET', META, 'depth', meta.depth, 'split', meta.split)
end

local own_page, own = page_with_url(url_key)
local fellow = own and crawler_of(own) ~= crawler and crawler_of(own) >= first_crawler

if own and seen_at(own) >= oldest and not fellow then
  local changed = sub(own, 25, 32) ~= digest
  local added, _, copies = struct.unpack('>I4I4I4', own)
  local updated
  if changed then
    local without_url = 24 + #query.signature
    updated = struct.pack('>I4I4I4I4', added, now, copies, crawler) .. sub(body, 1, without_url)
      .. sub(own, 17 + without_url)
  else
    updated = struct.pack('>I4I4I4I4', added, now, copies, crawler) .. sub(own, 17)
  end
  if changed then
    write_record(own_page, updated)
    unfile(own_page, own)
    file(own_page)
  else
    note_record(own_page, updated)
  end
  return {'revisit', changed and 1 or 0, meta.pages, 0, updated}
end

local matches, candidates = search(query, oldest)
if #matches > 0 then
  local _, page, record = unpack(matches[1])
  local added, _, copies, owner = struct.unpack('>I4I4I4I4', record)
  local updated = struct.pack('>I4I4I4I4', added, now, copies + 1, owner) .. sub(record, 17)
  note_record(page, updated)
  return {sub(record, 25, 32) == digest and 'exact' or 'near', 0, meta.pages, candidates, updated}
end

local page = append_record(struct.pack('>I4I4I4I4', now, now, 0, crawler) .. body)
if own then remove_page(own_page, own) end
redis.call('ZADD', bucket_key('u', url_key), 0, member_of(url_key, page))
file(page)
meta.pages, meta.next = meta.pages + 1, page + 1
redis.call('HSET', META, 'pages', meta.pages, 'next', meta.next)
grow()
return {'new', 0, meta.pages, candidates, false}
