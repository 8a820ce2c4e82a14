-- parts: layout, leases, records, deliveries, writing, retention, costs, search
-- Decide about a page and remember it. KEYS: prefix. ARGV: profile, a question, ARGV[9]: URL keys of own pages that were
-- delivered, ARGV[10]: text to keep of the page, or '', ARGV[11]: limit of pages (0: none), own number, flags, for a question in
-- a batch its place there, the rule of revisits (see `has_new_text`) if there is one, and the name of the batch.
-- Flags: 1 if the answer to the same question was lost; 2 to ask back whether a page of the same URL key and another URL is
-- the page's own, 4 if it is not; 8 if the page is on its way; 16 if there is a rule of revisits. Asking back changes nothing
-- and returns {'other', 0, pages, 0, record, 0}, else it returns {status, changed, pages, compared, record or false, flags: 1
-- if the page was abandoned, 2 if it took the record's place}, {'profile', the index's profile}, or {'lost'} without an index.
-- The record of a changed page is that of the earlier text, which comes behind the flags if it was kept.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end

local question = read_question()
local max_pages, crawler, flags, place = struct.unpack('>I4I4BI4', ARGV[11])
local rule = flags > 15 and sub(ARGV[11], 14, 17 + #question.costs) or ''
local batch, text = sub(ARGV[11], 14 + #rule), ARGV[10]
local keys, now, url_key = question.keys, question.now, question.url_key
local again, asks_back, is_other, on_its_way = flags % 2, flags % 4 > 1, flags % 8 > 3, flags % 16 > 7
local own_page, own, other = page_with_url(url_key, (asks_back or is_other) and question)
if other and asks_back then return {'other', 0, meta.pages, 0, other, 0} end

-- Writes start here. A full server refuses the first one that matters, so nothing is left half done.
if crawler > meta.crawlers then
  -- The index was lost and another crawler has begun it again, or the server was full when we joined. Keep our number
  -- from being given to another crawler.
  redis.pcall('HSET', META, 'crawlers', crawler)
end

local concurrent = own and crawler_of(own) ~= crawler and is_at_work(crawler_of(own), now)

if own and age_mark(own, question.refresh) >= question.oldest and not concurrent then
  -- What this crawler took over, or added, when only the answer was lost, is not delivered either.
  local abandoned = is_abandoned(own, crawler, now) or again == 1 and is_on_its_way(url_key, crawler)
  local changed = has_new_text(own, question.digest, question.signature, rule, abandoned)
  local updated, former = visited(own, now, crawler), changed and text_of(own_page) or ''
  if changed then
    write_record(own_page, with_body(updated, question.body, #question.signature))
    unfile(own_page, own)
    file_all(keys, own_page)
    keep_text(own_page, text)
  else
    note_record(own_page, updated)
    -- Texts may not have been kept when the page was added.
    if text ~= '' and digest_of(own) == question.digest then redis.pcall('SET', text_key(own_page), text, 'NX') end
  end
  deliver(ARGV[9], crawler)
  if on_its_way then set_out(url_key, crawler) else arrive(url_key) end
  if again == 1 and not changed and crawler_of(own) == crawler and now - added_at(own) <= 10 and seen_at(own) == added_at(own) then
    -- The same question added the page, and only the answer was lost.
    return {'new', 0, meta.pages, 0, false, 0}
  end
  return {'revisit', changed and 1 or 0, meta.pages, 0, updated, abandoned and 1 or 0, former}
end

local matches, compared, expired = search(question)
local nearest = 1
while matches[nearest] and is_abandoned(matches[nearest][3], crawler, now) do nearest = nearest + 1 end
local match = matches[nearest]
local replaces = match and is_better(question, matches, nearest)
if match and not replaces then
  local _, page, record = unpack(match)
  local is_known = again == 1 and is_last_counted(record, url_key)
  if batch ~= '' then
    -- Several questions of a batch may be copies of one page. They are answered in their order.
    local name = PREFIX .. 'b:' .. batch
    is_known = again == 1 and place <= (tonumber(call('GET', name)) or -1)
    if not is_known then redis.pcall('SET', name, format('%d', place), 'EX', '10') end
  end
  local updated = counted(record, now, url_key, is_known)
  note_record(page, updated)
  deliver(ARGV[9], crawler)
  return {digest_of(record) == question.digest and 'exact' or 'near', 0, meta.pages, compared, updated, 0}
end

local copies = replaces and copies_of(match[3]) + 1 or 0
local page = add(keys, head_of(now, now, copies, 0, crawler) .. question.body)
if text ~= '' then keep_text(page, text) end
call('HSET', META, 'pages', meta.pages, 'next', meta.next)
for i = 1, replaces and nearest or nearest - 1 do
  if matches[i][2] == own_page then own = nil end
  remove_page(matches[i][2], matches[i][3])
  arrive(url_key_of(matches[i][3]))
end
deliver(ARGV[9], crawler)
if on_its_way then set_out(url_key, crawler) else arrive(url_key) end
if own then remove_page(own_page, own) end
for i = 1, #expired do
  if expired[i][1] ~= own_page then remove_page(expired[i][1], expired[i][2]) end
end
grow(#keys / 8, 2)
if question.oldest > 0 and page % 16 == 0 then sweep(64, question.oldest, question.refresh, 32) end
if max_pages > 0 then evict(max_pages, 2) end
if not replaces then return {'new', 0, meta.pages, compared, false, 0} end
local status = digest_of(match[3]) == question.digest and 'exact' or 'near'
return {status, 0, meta.pages, compared, counted(match[3], now, url_key, false), 2}
