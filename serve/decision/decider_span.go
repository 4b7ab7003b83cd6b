package decision

import (
	"fmt"

	"pipe/serve/telemetry"
)

// endSpan ends the span of a decision. Of a request of one row it has the pair.
func endSpan(span *telemetry.Span, r *Result, err error) {
	if span == nil {
		return
	}
	if err != nil {
		span.End(fmt.Sprintf("%T", err)) // its text may quote the request
		return
	}
	span.Set("policy", r.Policy.Name)
	span.Set("policy.digest", r.Policy.Digest)
	span.Set("rows", len(r.Records))
	if len(r.Records) == 1 {
		rec := r.Records[0]
		span.Set("decision.id", rec.ID)
		span.Set("pair", r.Policy.Info().Actions.Name(rec.Action))
		if rec.ExpectedCost != nil {
			span.Set("expected_cost", float64(rec.ExpectedCost[rec.Action]))
		}
	}
	span.End("")
}
