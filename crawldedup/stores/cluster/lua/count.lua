-- parts: layout, leases, records, deliveries, writing
-- Count a copy of a page, or remove the page for a better one. KEYS: prefix. ARGV: profile, the page's URL key and digest, the
-- copy's URL key, now or 0, 1 if the page goes, 1 if the answer to the same call was lost. Returns {'counted', pages, record},
-- or {'gone'} if the page is no more what it was; {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local page, record = page_with_url(ARGV[2])
if not record or digest_of(record) ~= ARGV[3] then return {'gone'} end
local now = tonumber(ARGV[5])
if now == 0 then now = tonumber(call('TIME')[1]) end
local updated = counted(record, now, ARGV[4], ARGV[7] == '1' and is_last_counted(record, ARGV[4]))
if ARGV[6] == '1' then
  remove_page(page, record)
  arrive(url_key_of(record))
else
  note_record(page, updated)
end
return {'counted', meta.pages, updated}
