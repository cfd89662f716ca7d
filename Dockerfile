# Rooflens from source, for reading traces, computing costs and load tests. To run and profile models, install it
# beside PyTorch instead.
#
#     docker build --tag rooflens .
#     docker run --rm --volume "$PWD:/data" rooflens analyze trace.json.gz
#
# To write results (`-o`) with your permissions, add --user "$(id -u):$(id -g)".

# The rust-version of Cargo.toml.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo install --path crates/rooflens --locked --profile dist --root /installed

FROM debian:bookworm-slim
# Certificates for load tests over HTTPS and stores in buckets.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home rooflens
COPY --from=build /installed/bin/rooflens /usr/local/bin/rooflens
USER 10001
WORKDIR /data
ENTRYPOINT ["rooflens"]
CMD ["--help"]
