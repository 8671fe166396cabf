# An image with the server: docker build -t ostinato .   (docs/server.md, "In containers")

FROM node:22-slim AS page
WORKDIR /build/page
COPY page/package.json page/package-lock.json ./
RUN npm ci
COPY page/ ./
RUN npm run build

FROM python:3.13-slim AS wheels
ARG EXTRAS=server,postgres,google,openai,anthropic,gcs,otel,yaml,a2a,mcp
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src/ src/
COPY --from=page /build/src/ostinato/server/page/ src/ostinato/server/page/
RUN python -m pip wheel --no-cache-dir -c constraints.txt --wheel-dir /wheels ".[${EXTRAS}]"

FROM python:3.13-slim
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index /wheels/*.whl \
    && useradd --uid 10001 --create-home ostinato \
    && install -d -o ostinato /srv/agents /srv/data
ENV PYTHONUNBUFFERED=1
USER 10001
WORKDIR /srv/data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s CMD ["python", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
ENTRYPOINT ["ostinato", "serve", "/srv/agents", "--host", "0.0.0.0"]
