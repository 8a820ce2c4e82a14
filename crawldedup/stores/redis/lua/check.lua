-- parts: layout, records, marks, crawlers, writing, search
-- Decide about a page and remember it. KEYS: prefix. ARGV: the fields of `CheckArguments` in protocol.py, in their order.
-- Returns what `unpack_answer` unpacks, {'profile', the index's profile}, or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end

local NEW, NEAR, EXACT, REVISIT = 0, 1, 2, 3
local CHANGED, ABANDONED, REPLACES = 1, 2, 4
local question = read_question()
local text, max_pages, crawler, pending = ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), ARGV[12] == '1'
local rule, batch, place, is_retry = ARGV[13], ARGV[14], tonumber(ARGV[15]), ARGV[16] == '1'
local keys, now, url_key = question.keys, question.now, question.url_key
local own_page, own = page_with_url(url_key)

local function answer(status, how, compared, record, kept, kind)
  record = record or ''
  return struct.pack('>BBBI4I4I4', status, how, kind or 0, max(0, meta.pages), compared, #record) .. record .. (kept or '')
end

-- Return true if the text, marks or comments of a revisit differ from those of its record. See `Query.has_new_text`.
local function has_new_text(record, abandoned)
  local shown = unpack_marks(marks_of(record))
  if shown and question.shown and shown_conflict(question.shown, shown) > 0 then return true end
  -- If small changes don't count, neither does a comment.
  local counts_all = rule == '' or abandoned
  if counts_all and shown and question.shown and have_new_comments(question.shown, shown) then return true end
  if digest_of(record) == question.digest then return false end
  if counts_all then return true end
  return not cost_of(question.own, record, HEAD + 1, {byte(rule, 5, -1)}, number_at(rule, 1))
end

-- Return a record's head with the body of the question, and the record's own URL.
local function with_body(record)
  local first = 21 + #question.signature
  local own_url, its_url = url_place(record, first + 16), url_place(question.body, first)
  return sub(record, 1, 16) .. sub(question.body, 1, its_url - 1) .. sub(record, own_url)
end

-- Writes start here. A full server refuses the first one that matters, so nothing is left half done.
if crawler > meta.crawlers then
  -- The index was lost and another crawler has created it again, or the server was full when this crawler joined. Make sure
  -- that no other crawler gets its number.
  redis.pcall('HSET', META, 'crawlers', crawler)
end

local concurrent = own and crawler_of(own) ~= crawler and is_at_work(crawler_of(own), now)

if own and age_mark(own, question.refresh) >= question.oldest and not concurrent then
  -- A page that this crawler took over or added is not delivered either if only the answer was lost.
  local abandoned = is_abandoned(own, crawler, now) or is_retry and is_pending(url_key, crawler)
  local changed = has_new_text(own, abandoned)
  local updated, former = visited(own, now, crawler), changed and text_of(own_page) or ''
  if changed then
    local renewed = with_body(updated)
    write_record(own_page, renewed)
    unfile(own_page, own)
    file_all(keys, own_page)
    file_exact(own_page, renewed, own)
    keep_text(own_page, text)
  else
    updated = note_and_learn(own_page, own, updated, question.marks)
    -- Texts may not have been stored yet when the page was added.
    if text ~= '' and digest_of(own) == question.digest then redis.pcall('SET', text_key(own_page), text, 'NX') end
  end
  if pending then mark_pending(url_key, crawler) else unmark(url_key) end
  if is_retry and not changed and crawler_of(own) == crawler and now - seen_at(own) <= 10 then
    -- The same question may have added the page or changed it, and only the answer was lost.
    if seen_at(own) == added_at(own) then return answer(NEW, 0, 0) end
    changed = true
  end
  return answer(REVISIT, (changed and CHANGED or 0) + (abandoned and ABANDONED or 0), 0, updated, former)
end

local matches, compared, expired, rejected, siblings = search(question)
if concurrent and question.exact_only == 1 and not matches[1] and age_mark(own, question.refresh) >= question.oldest
  and not has_new_text(own) then matches[1] = {0, own_page, own} end
local nearest = 1
while matches[nearest] and is_abandoned(matches[nearest][3], crawler, now) do nearest = nearest + 1 end
local match = matches[nearest]
local _, rank = url_place(question.body, 21 + #question.signature)
local replaces = match ~= nil
for i = nearest, #matches do
  local _, other = url_place(matches[i][3], HEAD + #question.signature + 1)
  replaces = replaces and other > rank
end
rejected = siblings[1] or rejected
local status, former, kind = NEW, rejected and rejected[3], rejected and rejected[4]
if match then
  status, kind = digest_of(match[3]) == question.digest and EXACT or NEAR, nil
  former = status == NEAR and text ~= '' and text_of(match[2])
end

if match and not replaces then
  local _, page, record = unpack(match)
  -- The tag tells which copy was counted last.
  local is_known = is_retry and copies_of(record) > 0 and tag_of(record) == byte(url_key, 8)
  if batch ~= '' then
    -- Several questions of a batch may be copies of one page. They are answered in their order.
    local name = PREFIX .. 'b:' .. batch
    is_known = is_retry and place <= (tonumber(call('GET', name)) or -1)
    if not is_known then redis.pcall('SET', name, format('%d', place), 'EX', '10') end
  end
  local updated = counted(record, now, url_key, is_known)
  updated = note_and_learn(page, record, updated, question.marks)
  return answer(status, 0, compared, updated, former)
end

local copies = replaces and copies_of(match[3]) + 1 or 0
local added = head_of(now, now, copies, 0, crawler) .. question.body
if replaces and status == EXACT then
  added = with_marks(added, learned(question.marks, marks_of(match[3])))
elseif replaces then
  added = with_marks(added, succeeding(question.marks, marks_of(match[3]), exact_keys_of(match[3])[1]))
end
local page = add(keys, added)
if text ~= '' then keep_text(page, text) end
call('HSET', META, 'pages', meta.pages, 'next', meta.next)
for i = 1, replaces and nearest or nearest - 1 do
  if matches[i][2] == own_page then own = nil end
  remove_page(matches[i][2], matches[i][3])
  unmark(url_key_of(matches[i][3]))
end
if pending then mark_pending(url_key, crawler) else unmark(url_key) end
if own then remove_page(own_page, own) end
for i = 1, #expired do
  if expired[i][1] ~= own_page then remove_page(expired[i][1], expired[i][2]) end
end
grow(#keys / 8)
if question.oldest > 0 and page % 16 == 0 then sweep(question.oldest, question.refresh) end
if max_pages > 0 then evict(max_pages) end
return answer(status, replaces and REPLACES or 0, compared, replaces and counted(match[3], now, url_key, false), former, kind)
