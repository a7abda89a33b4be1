# relist-sql and nothing else, as Dockerfile has relist.
FROM scratch
ARG TARGETPLATFORM=linux/amd64
COPY ${TARGETPLATFORM}/relist-sql /relist-sql
USER 65532:65532
ENTRYPOINT ["/relist-sql"]
CMD ["--help"]
