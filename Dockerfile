# The image of the controller contains only the static program. "make image" builds the same image
# without a container engine.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY pkg pkg
COPY deploy deploy
ARG TARGETOS=linux
ARG TARGETARCH
ARG VERSION=v0.0.0-dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X main.version=$VERSION" \
    -o /kubectl-imoocpod ./cmd/kubectl-imoocpod

FROM scratch
COPY --from=build /kubectl-imoocpod /kubectl-imoocpod
USER 65532:65532
ENTRYPOINT ["/kubectl-imoocpod"]
