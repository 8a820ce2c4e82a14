-- Freeing pages that have expired or are too many.

-- Free the pages from number `first` on, `count` of them, that were last of use before `oldest`; how many were freed,
-- and whether all of the list that they end is gone by now.
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

-- A list of removed pages only is no more than a list of holes. The last list is still being filled.
local function drop_if_empty(list)
  if list >= floor(meta.next / RECORDS_A_LIST) then return end
  local name = DATA .. 'r:' .. list
  local records = call('LRANGE', name, 0, -1)
  for i = 1, #records do
    if #records[i] > 0 then return end
  end
  call('UNLINK', name)
end

-- Look at the next `count` pages for expired ones; the search goes round and round.
local function sweep(count, oldest, refresh)
  if meta.sweep >= meta.next then meta.sweep = meta.oldest - meta.oldest % count end
  local freed = free_expired(meta.sweep, count, oldest, refresh)
  meta.sweep = meta.sweep + count
  if freed > 0 and meta.sweep % RECORDS_A_LIST == 0 then drop_if_empty(meta.sweep / RECORDS_A_LIST - 1) end
  call('HSET', META, 'sweep', meta.sweep)
  return freed
end

-- Forget the pages that were added first while there are more than `most`, but `wanted` of them at the utmost.
local function evict(most, wanted)
  local freed, from, steps = 0, meta.oldest, 0
  while meta.pages > most and freed < wanted and meta.oldest < meta.next and steps < 32 * wanted do
    local record = call('LINDEX', list_of(meta.oldest), meta.oldest % RECORDS_A_LIST)
    if record and #record > HEAD then
      remove_page(meta.oldest, record)
      freed = freed + 1
    end
    -- Of a list that is gone, every page is.
    meta.oldest = record and meta.oldest + 1 or (floor(meta.oldest / RECORDS_A_LIST) + 1) * RECORDS_A_LIST
    if meta.oldest % RECORDS_A_LIST == 0 then call('UNLINK', list_of(meta.oldest - 1)) end
    steps = steps + 1
  end
  if meta.oldest > from then call('HSET', META, 'oldest', meta.oldest) end
  return freed
end
