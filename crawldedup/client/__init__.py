"""Ask a service that `crawldedup serve` runs: `Client`, and `AsyncClient` for asyncio."""

from crawldedup.client.calls import PageFields, ServiceError
from crawldedup.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client", "PageFields", "ServiceError"]
