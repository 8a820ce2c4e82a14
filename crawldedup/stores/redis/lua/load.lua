-- parts: layout, records, writing
-- Add pages without comparing them. KEYS: prefix. ARGV: profile, number of tables, for each page the length of its record
-- (4 bytes), its keys and its record, as one string. Returns {'loaded', pages added}, {'profile', ..} or {'lost'}.

if not meta.profile then return {'lost'} end
if meta.profile ~= ARGV[1] then return {'profile', meta.profile} end
local tables, data = tonumber(ARGV[2]), ARGV[3]
local added, place = 0, 1
while place <= #data do
  local size = struct.unpack('>I4', data, place)
  local keys = sub(data, place + 4, place + 3 + tables * 8)
  local record = sub(data, place + 4 + tables * 8, place + 3 + tables * 8 + size)
  place = place + 4 + tables * 8 + size
  if not page_with_url(url_key_of(record)) then
    add(keys, record)
    grow(tables, 2)
    added = added + 1
  end
end
call('HSET', META, 'pages', meta.pages, 'next', meta.next)
return {'loaded', added}
