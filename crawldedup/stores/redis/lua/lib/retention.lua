-- Free pages that have expired or are too many.

-- Free those of the `count` pages from number `first` on that expired before `oldest`; return how many were freed and how many
-- are left.
local function free_expired(first, count, oldest, refresh)
  local place = first % RECORDS_A_LIST
  local records = call('LRANGE', list_of(first), place, place + count - 1)
  local freed, left = 0, 0
  for i = 1, #records do
    if #records[i] > HEAD then
      if age_mark(records[i], refresh) < oldest then
        remove_page(first + i - 1, records[i])
        freed = freed + 1
      else
        left = left + 1
      end
    end
  end
  return freed, left
end

-- Remove a list with at most `movable` pages left; these are added again behind the others. The last list is still being
-- filled.
local function drop_if_empty(list, movable)
  if list >= floor(meta.next / RECORDS_A_LIST) then return end
  local name = format('%sr:%d', DATA, list)
  local records, left = call('LRANGE', name, 0, -1), {}
  for i = 1, #records do
    if #records[i] > 0 then left[#left + 1] = i end
  end
  if #left > movable then return end
  for _, i in ipairs(left) do
    local page, keys = list * RECORDS_A_LIST + i - 1, keys_of(records[i])
    local text = text_of(page)
    remove_page(page, records[i])
    keep_text(add(keys, records[i]), text)
  end
  if #left > 0 then call('HSET', META, 'pages', meta.pages, 'next', meta.next) end
  call('UNLINK', name)
end

-- Examine the next `count` pages, and a few hundred removed ones, for expired ones; begin again behind the last page. `movable`
-- is as in `drop_if_empty`.
local function sweep(count, oldest, refresh, movable)
  local looked = 0
  if meta.sweep >= meta.next then meta.sweep = meta.oldest - meta.oldest % count end
  for _ = 1, 8 do
    local first = meta.sweep
    if looked >= count or first >= meta.next then break end
    local following, left = first + count, 0
    if first % RECORDS_A_LIST == 0 and call('EXISTS', list_of(first)) == 0 then
      following = first + RECORDS_A_LIST
    else
      local freed
      freed, left = free_expired(first, count, oldest, refresh)
      looked = looked + freed + left
      if following % RECORDS_A_LIST == 0 then drop_if_empty(following / RECORDS_A_LIST - 1, movable) end
    end
    if left == 0 and meta.oldest >= first then meta.oldest = max(meta.oldest, min(following, meta.next)) end
    meta.sweep = following
  end
  call('HSET', META, 'sweep', meta.sweep, 'oldest', meta.oldest)
end

-- Free the pages that were added first while there are more than `most`, at most `wanted` of them.
local function evict(most, wanted)
  local freed, from, steps = 0, meta.oldest, 0
  while meta.pages > most and freed < wanted and meta.oldest < meta.next and steps < 32 * wanted do
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
  return freed
end
