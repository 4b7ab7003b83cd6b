package oip

import (
	"context"

	pb "pipe/serve/oip/inferencepb"
)

// ModelConfig returns the configuration of a model in Triton's format, as far as its clients read it.
func (s *rpc) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	about, err := s.api.metadata(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, rpcError(err)
	}
	c := &pb.ModelConfig{Name: about.name, Platform: platform, Backend: backend, MaxBatchSize: int32(about.batch)}
	for _, t := range about.inputs {
		c.Input = append(c.Input, &pb.ModelInput{Name: t.name, DataType: tritonType(t.dtype), Dims: t.dims(about.batch)})
	}
	for _, t := range about.outputs {
		c.Output = append(c.Output, &pb.ModelOutput{Name: t.name, DataType: tritonType(t.dtype), Dims: t.dims(about.batch)})
	}
	return &pb.ModelConfigResponse{Config: c}, nil
}

// ModelStatistics returns the statistics of one or all models in Triton's format.
func (s *rpc) ModelStatistics(_ context.Context, r *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	list, err := s.api.statistics(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, rpcError(err)
	}
	out := &pb.ModelStatisticsResponse{}
	for _, m := range list {
		n := m.succeeded.Load()
		out.ModelStats = append(out.ModelStats, &pb.ModelStatistics{
			Name: m.name, Version: currentVersion, LastInference: uint64(m.last.Load()),
			InferenceCount: m.rows.Load(), ExecutionCount: n,
			InferenceStats: &pb.InferStatistics{
				Success:       &pb.StatisticDuration{Count: n, Ns: m.succeededNS.Load()},
				Fail:          &pb.StatisticDuration{Count: m.failed.Load(), Ns: m.failedNS.Load()},
				Queue:         &pb.StatisticDuration{Count: n},
				ComputeInput:  &pb.StatisticDuration{Count: n, Ns: m.inputNS.Load()},
				ComputeInfer:  &pb.StatisticDuration{Count: n, Ns: m.runNS.Load()},
				ComputeOutput: &pb.StatisticDuration{Count: n, Ns: m.outNS.Load()},
			},
		})
	}
	return out, nil
}

// RepositoryIndex returns the list of models in Triton's format.
func (s *rpc) RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	out := &pb.RepositoryIndexResponse{}
	for _, name := range s.api.policies.Names() {
		out.Models = append(out.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: name, Version: currentVersion, State: "READY"})
	}
	return out, nil
}
