# bertdata on any machine or cluster, with what reaches stores and Dask, for a user without rights.
#     docker build --tag bertdata .
#     docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/data" bertdata build-corpus --text text.jsonl --output corpus
# Versions are those of constraints.txt.  The image of Dataflow's template is another one: pipelines/dataflow/Dockerfile.
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY bertdata bertdata
COPY pipelines pipelines
RUN python -m venv /opt/bertdata \
    && /opt/bertdata/bin/pip install --no-cache-dir '.[s3,gs,zstd,chinese,near,dask]' --constraint constraints.txt \
    && /opt/bertdata/bin/pip check

FROM python:3.11-slim-bookworm
COPY --from=build /opt/bertdata /opt/bertdata
RUN useradd --create-home --uid 10001 bertdata && mkdir /data && chown bertdata /data
ENV PATH=/opt/bertdata/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
ENTRYPOINT ["bertdata"]
CMD ["--help"]
