-- Leases of the crawlers at work.

local LEASE_SECONDS = 120

-- Return true if a crawler has a lease. One that ends later than it can was given before the clock went back.
local function is_at_work(crawler, now)
  local ends = tonumber(call('ZSCORE', PREFIX .. 'c', crawler))
  return ends and now < ends and ends <= now + LEASE_SECONDS
end
