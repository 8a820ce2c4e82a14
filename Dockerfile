# The service, and the Redis that its tests run on. docker-compose.yml builds and runs both:
#
#   docker build --target service -t crawldedup .

# Redis 7.0 from Debian, which also provides the security fixes that Redis itself only provides for
# other versions.
FROM debian:bookworm-slim AS redis
RUN apt-get update \
    && apt-get install -y --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o redis -g redis /data
USER redis
WORKDIR /data
VOLUME /data
EXPOSE 6379
CMD ["redis-server"]

FROM python:3.12-slim-bookworm AS service
WORKDIR /app
COPY pyproject.toml setup.py README.md LICENSE ./
COPY crawldedup ./crawldedup
RUN pip install --no-cache-dir '.[server]'
USER nobody
EXPOSE 8300
ENTRYPOINT ["crawldedup"]
CMD ["serve", "--host", "0.0.0.0"]
