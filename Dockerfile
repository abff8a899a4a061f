# docker build --tag bakeoff .
# mkdir -p outputs  # else Docker makes the folder, and only root may write into it
# docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD/outputs:/experiments/outputs" bakeoff dataset=wine learner=knn
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /opt/bakeoff \
    && /opt/bakeoff/bin/pip install --no-cache-dir --constraint /source/constraints.txt /source

FROM python:3.13-slim
# Git records the commit of experiments in a repository; any version of it does.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/bakeoff /opt/bakeoff
# Any user may run the image: the home, in which libraries keep caches, is open to all, as /tmp is.
ENV PATH=/opt/bakeoff/bin:$PATH HOME=/tmp
RUN useradd --uid 1000 --create-home bakeoff && mkdir --parents /experiments/outputs && chown --recursive bakeoff /experiments
USER 1000
WORKDIR /experiments
VOLUME /experiments/outputs
ENTRYPOINT ["bakeoff"]
