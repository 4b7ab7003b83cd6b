package oip

import (
	"net/http"
)

// restConfig returns the configuration of a model in Triton's format, as far as its clients read it.
func (a *API) restConfig(r *http.Request) (any, error) {
	about, err := a.metadata(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return nil, err
	}
	type tensor struct {
		Name     string  `json:"name"`
		DataType string  `json:"data_type"`
		Dims     []int64 `json:"dims"`
	}
	tensors := func(list []tensorInfo) []tensor {
		out := make([]tensor, len(list))
		for i, t := range list {
			out[i] = tensor{t.name, tritonType(t.dtype).String(), t.dims(about.batch)}
		}
		return out
	}
	return struct {
		Name         string   `json:"name"`
		Platform     string   `json:"platform"`
		Backend      string   `json:"backend"`
		MaxBatchSize int      `json:"max_batch_size"`
		Input        []tensor `json:"input"`
		Output       []tensor `json:"output"`
	}{about.name, platform, backend, about.batch, tensors(about.inputs), tensors(about.outputs)}, nil
}

// restDuration is a number of events and their total time.
type restDuration struct {
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

// restStats returns the statistics of one or all models in Triton's format.
func (a *API) restStats(r *http.Request) (any, error) {
	list, err := a.statistics(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return nil, err
	}
	type inferences struct {
		Success restDuration `json:"success"`
		Fail    restDuration `json:"fail"`
		Queue   restDuration `json:"queue"`
		Input   restDuration `json:"compute_input"`
		Infer   restDuration `json:"compute_infer"`
		Output  restDuration `json:"compute_output"`
	}
	type model struct {
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Last       int64      `json:"last_inference"`
		Count      uint64     `json:"inference_count"`
		Executions uint64     `json:"execution_count"`
		Stats      inferences `json:"inference_stats"`
	}
	models := make([]model, len(list))
	for i, m := range list {
		n := m.succeeded.Load()
		models[i] = model{m.name, currentVersion, m.last.Load(), m.rows.Load(), n, inferences{
			Success: restDuration{n, m.succeededNS.Load()}, Fail: restDuration{m.failed.Load(), m.failedNS.Load()},
			Queue: restDuration{n, 0}, Input: restDuration{n, m.inputNS.Load()},
			Infer: restDuration{n, m.runNS.Load()}, Output: restDuration{n, m.outNS.Load()},
		}}
	}
	return map[string]any{"model_stats": models}, nil
}

// restIndex returns the list of models in Triton's format.
func (a *API) restIndex(*http.Request) (any, error) {
	type model struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		State   string `json:"state"`
	}
	list := []model{}
	for _, name := range a.policies.Names() {
		list = append(list, model{name, currentVersion, "READY"})
	}
	return list, nil
}
