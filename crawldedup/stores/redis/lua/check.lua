-- parts: layout, records, writing, retention, search
-- Decide about a page and remember it. KEYS: prefix. ARGV: profile, a question, ARGV[8]: limit of pages (0: none), own
-- number, number of the crawl's first crawler, flags, and for a question in a batch its place there and the name of the batch.
-- Flags: 1 if the answer to the same question was lost; 2 to ask back whether a page of the same URL key and another URL is
-- the page's own, 4 if it is not. Asking back changes nothing and returns {'other', 0, pages, 0, record}, else it
-- returns {status, changed, pages, compared, record or false}, {'profile', the index's profile}, or {'lost'} without an
-- index.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end

local question = read_question()
local max_pages, crawler, first_crawler, flags, place = struct.unpack('>I4I4I4BI4', ARGV[8])
local batch = sub(ARGV[8], 18)
local keys, now, url_key = question.keys, question.now, question.url_key
local again = flags % 2
local own_page, own, other = page_with_url(url_key, flags > 1 and question)
if other and flags < 4 then return {'other', 0, meta.pages, 0, other} end

-- Writes start here. A full server refuses the first one that matters, so nothing is left half done.
if crawler > meta.crawlers then
  -- The index was lost and another crawler has begun it again, or the server was full when we joined. Keep our number
  -- from being given to another crawler.
  redis.pcall('HSET', META, 'crawlers', crawler)
end

local concurrent = own and crawler_of(own) ~= crawler and crawler_of(own) >= first_crawler

if own and age_mark(own, question.refresh) >= question.oldest and not concurrent then
  local changed = digest_of(own) ~= question.digest
  local updated = visited(own, now, crawler)
  if changed then
    updated = with_body(updated, question.body, #question.signature)
    write_record(own_page, updated)
    unfile(own_page, own)
    file_all(keys, own_page)
  else
    note_record(own_page, updated)
  end
  if again == 1 and not changed and crawler_of(own) == crawler and now - added_at(own) <= 10 and seen_at(own) == added_at(own) then
    -- The same question added the page, and only the answer was lost.
    return {'new', 0, meta.pages, 0, false}
  end
  return {'revisit', changed and 1 or 0, meta.pages, 0, updated}
end

local matches, compared, expired = search(question)
if #matches > 0 then
  local _, page, record = unpack(matches[1])
  local is_known = again == 1 and is_last_counted(record, url_key)
  if batch ~= '' then
    -- Several questions of a batch may be copies of one page. They are answered in their order.
    local name = PREFIX .. 'b:' .. batch
    is_known = again == 1 and place <= (tonumber(call('GET', name)) or -1)
    if not is_known then redis.pcall('SET', name, format('%d', place), 'EX', '10') end
  end
  local updated = counted(record, now, url_key, is_known)
  note_record(page, updated)
  return {digest_of(record) == question.digest and 'exact' or 'near', 0, meta.pages, compared, updated}
end

local page = add(keys, head_of(now, now, 0, 0, crawler) .. question.body)
call('HSET', META, 'pages', meta.pages, 'next', meta.next)
if own then remove_page(own_page, own) end
for i = 1, #expired do
  if expired[i][1] ~= own_page then remove_page(expired[i][1], expired[i][2]) end
end
grow(#keys / 8, 2)
if question.oldest > 0 and page % 16 == 0 then sweep(64, question.oldest, question.refresh, 32) end
if max_pages > 0 then evict(max_pages, 2) end
return {'new', 0, meta.pages, compared, false}
