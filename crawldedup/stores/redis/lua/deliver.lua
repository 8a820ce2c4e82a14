-- parts: layout, records, crawlers
-- Note that pages were delivered. KEYS: prefix. ARGV: their URL keys as one string, and the number of their crawler. Returns 1.

-- Pages that another crawler has taken over in the meantime are still pending.
for i = 1, #ARGV[1], 8 do
  local url_key = sub(ARGV[1], i, i + 7)
  if is_pending(url_key, tonumber(ARGV[2])) then unmark(url_key) end
end
return 1
