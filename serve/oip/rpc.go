package oip

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "pipe/serve/oip/inferencepb"
)

// RegisterGRPC adds the service of the protocol and gRPC's health service to a server.
func (a *API) RegisterGRPC(s *grpc.Server) {
	pb.RegisterGRPCInferenceServiceServer(s, &rpc{api: a})
	grpc_health_v1.RegisterHealthServer(s, &rpcHealth{Server: health.NewServer(), api: a})
}

// rpcHealth is gRPC's health service, for the whole server (the service "") and for the service of the protocol.
type rpcHealth struct {
	*health.Server
	api *API
}

// Check returns SERVING while requests are accepted.
func (h *rpcHealth) Check(_ context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if r.Service != "" && r.Service != pb.GRPCInferenceService_ServiceDesc.ServiceName {
		return nil, rpcError(problemf(unknown, "unknown service %q", r.Service))
	}
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if h.api.ready() {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	return &grpc_health_v1.HealthCheckResponse{Status: state}, nil
}

// watchEvery is how often readiness is checked for clients that watch it.
const watchEvery = time.Second

// Watch sends the state, and every change of it.
func (h *rpcHealth) Watch(r *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	last := grpc_health_v1.HealthCheckResponse_UNKNOWN
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		now, err := h.Check(stream.Context(), r)
		if err != nil {
			now = &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN}
		}
		if now.Status != last {
			if err := stream.Send(now); err != nil {
				return err
			}
			last = now.Status
		}
		select {
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-tick.C:
		}
	}
}

// rpc is the gRPC service of the protocol.
type rpc struct {
	pb.UnimplementedGRPCInferenceServiceServer
	api *API
}

// rpcError converts an error to a gRPC status.
func rpcError(err error) error {
	k := internal
	if p, ok := errors.AsType[*problem](err); ok {
		k = p.kind
	}
	return status.Error(k.code, strings.ToValidUTF8(err.Error(), "?"))
}

// ServerLive is the liveness check.
func (s *rpc) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

// ServerReady is the readiness check.
func (s *rpc) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: s.api.ready()}, nil
}

// ModelReady is the readiness check of a model.
func (s *rpc) ModelReady(_ context.Context, r *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	p, err := s.api.acquire(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, rpcError(err)
	}
	p.Release()
	return &pb.ModelReadyResponse{Ready: s.api.ready()}, nil
}

// ServerMetadata returns the metadata of the server.
func (s *rpc) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "pipe", Version: s.api.version, Extensions: extensions}, nil
}

// ModelMetadata returns the metadata of a model.
func (s *rpc) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	about, err := s.api.metadata(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, rpcError(err)
	}
	tensors := func(list []tensorInfo) []*pb.ModelMetadataResponse_TensorMetadata {
		out := make([]*pb.ModelMetadataResponse_TensorMetadata, len(list))
		for i, t := range list {
			out[i] = &pb.ModelMetadataResponse_TensorMetadata{Name: t.name, Datatype: t.datatype, Shape: t.shape}
		}
		return out
	}
	return &pb.ModelMetadataResponse{
		Name: about.name, Versions: about.versions, Platform: platform,
		Inputs: tensors(about.inputs), Outputs: tensors(about.outputs),
	}, nil
}

// ModelInfer runs a model.
func (s *rpc) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	start := time.Now()
	q, raw, err := rpcRequest(r)
	if err != nil {
		return nil, rpcError(err)
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if id := md.Get("x-request-id"); len(id) > 0 {
			q.log = id[0]
		}
	}
	m := s.api.memories.Get().(*memory)
	defer func() {
		m.reset()
		s.api.memories.Put(m)
	}()
	out, err := s.api.infer(ctx, q, m, start)
	if err != nil {
		return nil, rpcError(err)
	}
	return rpcAnswer(out, raw), nil
}
