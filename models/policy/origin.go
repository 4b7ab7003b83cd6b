package policy

import (
	"maps"
	"time"

	"pipe/costs"
	"pipe/onnx"
)

// Origin is the part of Policy.Info about the tensor that a policy was trained on: its digest, the names of its features
// if it has them, and the time of its latest training row if it has times.
func Origin(t *costs.Tensor) map[string]string {
	about := map[string]string{OriginKey: t.Digest()}
	if names, ok := t.Meta[costs.NamesKey]; ok {
		about[NamesKey] = names
	}
	if rows := t.Rows(costs.Train); t.Times != nil && len(rows) > 0 {
		last := t.Times[rows[0]]
		for _, n := range rows {
			last = max(last, t.Times[n])
		}
		about[UntilKey] = costs.TimeText(last)
	}
	return about
}

// Until is the time of the latest row that the policy of a file was trained on, in microseconds; ok is false where the
// file does not say.
func (i *Info) Until() (micros int64, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, i.Info[UntilKey])
	return at.UnixMicro(), err == nil
}

// Annotate adds one more entry of [Info.Info] to the model of a policy file, or replaces it.
func Annotate(m *onnx.Model, key, value string) {
	meta := maps.Clone(m.Metadata())
	meta[keyPrefix+key] = value
	m.SetMetadata(meta)
}
