-- Add and remove pages, and free those that have expired or are too many.

local function write_record(page, record) call('LSET', list_of(page), page % RECORDS_A_LIST, record) end

-- Write a counter, and return whether it was written. If a full server refuses this, it is not an error, because the server
-- can still answer.
local function note_record(page, record)
  return not redis.pcall('LSET', list_of(page), page % RECORDS_A_LIST, record).err
end

-- Replace the stored text of a page. If it is '', remove the stored one.
local function keep_text(page, text)
  if text == '' then call('UNLINK', text_key(page)) else call('SET', text_key(page), text) end
end

-- Return the number of the next page.
local function next_page()
  if call('LLEN', list_of(meta.next)) == meta.next % RECORDS_A_LIST then return meta.next end
  -- Keys were evicted or deleted, so continue with a list that is certainly empty.
  local page = (floor(meta.next / RECORDS_A_LIST) + 1) * RECORDS_A_LIST
  call('UNLINK', list_of(page))
  return page
end

-- File a page under its key (5 bytes or more) in a permuted table.
local function file(number, key, page)
  local value = leading(key)
  local bucket, depth = bucket_of(value)
  call('ZADD', format('%st%d:%d', DATA, number, bucket), '0', member_of(key, page))
  local part = (value * 256 + byte(key, 5)) / 2 ^ (40 - filtered_bits(depth))
  call('SETBIT', format('%sf%d:%d', DATA, number, depth), format('%d', part), '1')
end

local function file_all(keys, page)
  for number = 0, #keys / 8 - 1 do file(number, sub(keys, number * 8 + 1, number * 8 + 8), page) end
end

-- Return the exact keys of a record.
local function exact_keys_of(record) return exact_keys(sub(record, 17, 21), digest_of(record), unpack_marks(marks_of(record))) end

-- File a page under the exact keys of its record, instead of those of its former record if there was one.
local function file_exact(page, record, former)
  local keys, old = record and exact_keys_of(record) or {}, former and exact_keys_of(former) or {}
  for i = 1, #EXACT_TABLES do
    local name, key, its = EXACT_TABLES[i], keys[i], old[i]
    if its and its ~= key then call('ZREM', bucket_key(name, its), member_of(its, page)) end
    if key and its ~= key then call('ZADD', bucket_key(name, key), '0', member_of(key, page)) end
  end
end

-- Add a page. Its record comes last: if another program holds one of the keys, the page is not added.
local function add(keys, record)
  local page, url_key = next_page(), url_key_of(record)
  file_all(keys, page)
  call('ZADD', bucket_key('u', url_key), '0', member_of(url_key, page))
  file_exact(page, record)
  call('RPUSH', list_of(page), record)
  meta.pages, meta.next = meta.pages + 1, page + 1
  return page
end

-- Return the filter of a bucket that holds members first .. last, in their order: 2^FILTER_BITS bits, or fewer in the deepest
-- buckets, as a string.
local function filter_of(members, first, last, depth)
  local bits = filtered_bits(depth)
  local span, count = 2 ^ (40 - bits), 2 ^ (bits - depth)
  local bytes, latest = {}, -1
  for i = 0, count / 8 - 1 do bytes[i] = 0 end
  for i = first, last do
    local part = floor((leading(members[i]) * 256 + byte(members[i], 5)) / span) % count
    if part > latest then
      local place = floor(part / 8)
      bytes[place], latest = bytes[place] + 2 ^ (7 - part % 8), part
    end
  end
  return char(unpack(bytes, 0))
end

-- Split the next bucket of a table, without removing it.
local function cut(table_name, filter_name)
  local stem, depth = DATA .. table_name .. ':', meta.depth + 1
  local members = call('ZRANGE', stem .. (2 ^ meta.depth + meta.split), '0', '-1')
  local middle = (2 * meta.split + 1) * 2 ^ (32 - depth)
  local below = 0
  while members[below + 1] and leading(members[below + 1]) < middle do below = below + 1 end
  for side = 0, 1 do
    local number = 2 * meta.split + side
    local first, last = side * below + 1, side == 0 and below or #members
    -- The last members come first, because the server searches for the place of a member from the beginning.
    local arguments, size = {}, 0
    for i = last, first, -1 do
      arguments[size + 1], arguments[size + 2] = '0', members[i]
      size = size + 2
      if size == 1000 or i == first then
        call('ZADD', stem .. (2 ^ depth + number), unpack(arguments, 1, size))
        size = 0
      end
    end
    if filter_name and first <= last then
      local bytes = filter_of(members, first, last, depth)
      call('SETRANGE', DATA .. filter_name .. ':' .. depth, number * #bytes, bytes)
    end
  end
end

-- Split the next bucket of every table. Nothing is removed until everything is in its new place.
local function cut_next(tables)
  for number = 0, tables - 1 do cut('t' .. number, 'f' .. number) end
  cut('u')
  for i = 1, #EXACT_TABLES do cut(EXACT_TABLES[i]) end
  local depth, split = meta.depth, meta.split + 1
  if split == 2 ^ depth then depth, split = depth + 1, 0 end
  call('HSET', META, 'depth', depth, 'split', split)
  local old = ':' .. (2 ^ meta.depth + meta.split)
  for number = 0, tables - 1 do
    call('UNLINK', DATA .. 't' .. number .. old)
    if split == 0 then call('UNLINK', DATA .. 'f' .. number .. ':' .. meta.depth) end
  end
  call('UNLINK', DATA .. 'u' .. old)
  for i = 1, #EXACT_TABLES do call('UNLINK', DATA .. EXACT_TABLES[i] .. old) end
  meta.depth, meta.split = depth, split
end

-- Split up to two buckets, as many as the number of pages requires. If that fails because the server is full, or because
-- another program has one of the keys, buckets are larger for a while.
local function grow(tables)
  for _ = 1, 2 do
    if meta.pages <= BUCKET_PAGES * (2 ^ meta.depth + meta.split) or meta.depth >= MAX_DEPTH then return end
    if not pcall(cut_next, tables) then return end
  end
end

-- Compute the keys of a page in the permuted tables. They are rarely needed, and too long to be stored. The order has two
-- bytes for each bit of the keys: its place in the record.
local function keys_of(record)
  local order = call('HGET', META, 'order')
  local keys, value = {}, 0
  for i = 1, #order / 2 do
    local high, low = byte(order, i * 2 - 1, i * 2)
    local place = high * 256 + low
    value = value * 2 + floor(byte(record, floor(place / 8) + 1) / 2 ^ (7 - place % 8)) % 2
    if i % 8 == 0 then keys[i / 8], value = char(value), 0 end
  end
  return concat(keys)
end

local function unfile(page, record)
  local keys = keys_of(record)
  for number = 0, #keys / 8 - 1 do
    local key = sub(keys, number * 8 + 1, number * 8 + 8)
    call('ZREM', bucket_key('t' .. number, key), member_of(key, page))
  end
end

-- Note that a page or a copy of it was seen again, and what its record learns from the marks of that page. Return the record.
local function note_and_learn(page, record, updated, marks)
  local own = marks_of(record)
  local known = learned(own, marks)
  if known ~= own then updated = with_marks(updated, known) end
  if note_record(page, updated) and known ~= own then file_exact(page, updated, record) end
  return updated
end

local function remove_page(page, record)
  local url_key = url_key_of(record)
  call('ZREM', bucket_key('u', url_key), member_of(url_key, page))
  unfile(page, record)
  file_exact(page, nil, record)
  write_record(page, '')
  keep_text(page, '')
  call('HINCRBY', META, 'pages', -1)
  meta.pages = meta.pages - 1
end

-- Of the `count` pages from number `first` on, free those that expired before `oldest`. Return how many were freed and how
-- many are left.
local function free_expired(first, count, oldest, refresh)
  local place = first % RECORDS_A_LIST
  local records = call('LRANGE', list_of(first), place, place + count - 1)
  local freed, left = 0, 0
  for i = 1, #records do
    if #records[i] > HEAD then
      local is_gone = age_mark(records[i], refresh) < oldest
      if is_gone then remove_page(first + i - 1, records[i]) end
      freed, left = freed + (is_gone and 1 or 0), left + (is_gone and 0 or 1)
    end
  end
  return freed, left
end

-- Remove the list that ends before a page if few of its pages are left. These are added again after the last page.
local function drop_if_sparse(following)
  if following > meta.next then return end
  local name = list_of(following - 1)
  local records, left = call('LRANGE', name, 0, -1), {}
  for i = 1, #records do
    if #records[i] > 0 then left[#left + 1] = i end
  end
  if #left > 32 then return end
  for _, i in ipairs(left) do
    local page = following - RECORDS_A_LIST + i - 1
    local keys, text = keys_of(records[i]), text_of(page)
    remove_page(page, records[i])
    keep_text(add(keys, records[i]), text)
  end
  if #left > 0 then call('HSET', META, 'pages', meta.pages, 'next', meta.next) end
  call('UNLINK', name)
end

-- Look for expired pages among the next 64 pages, passing over a few hundred removed ones. Start over after the last page.
local function sweep(oldest, refresh)
  local looked = 0
  if meta.sweep >= meta.next then meta.sweep = meta.oldest - meta.oldest % 64 end
  for _ = 1, 8 do
    local first = meta.sweep
    if looked >= 64 or first >= meta.next then break end
    local following, left = first + 64, 0
    if first % RECORDS_A_LIST == 0 and call('EXISTS', list_of(first)) == 0 then
      following = first + RECORDS_A_LIST
    else
      local freed
      freed, left = free_expired(first, 64, oldest, refresh)
      looked = looked + freed + left
      if following % RECORDS_A_LIST == 0 then drop_if_sparse(following) end
    end
    if left == 0 and meta.oldest >= first then meta.oldest = max(meta.oldest, min(following, meta.next)) end
    meta.sweep = following
  end
  call('HSET', META, 'sweep', meta.sweep, 'oldest', meta.oldest)
end

-- If there are more than `most` pages, free up to two of those that were added first.
local function evict(most)
  local freed, from, steps = 0, meta.oldest, 0
  while meta.pages > most and freed < 2 and meta.oldest < meta.next and steps < 64 do
    local record = call('LINDEX', list_of(meta.oldest), meta.oldest % RECORDS_A_LIST)
    if record and #record > HEAD then
      remove_page(meta.oldest, record)
      freed = freed + 1
    end
    -- If a list was removed, so were all of its pages.
    meta.oldest = record and meta.oldest + 1 or (floor(meta.oldest / RECORDS_A_LIST) + 1) * RECORDS_A_LIST
    if meta.oldest % RECORDS_A_LIST == 0 then call('UNLINK', list_of(meta.oldest - 1)) end
    steps = steps + 1
  end
  if meta.oldest > from then call('HSET', META, 'oldest', meta.oldest) end
end
