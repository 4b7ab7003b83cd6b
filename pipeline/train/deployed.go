package train

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// byLog names the deployed policies of a log that no file is given for.
const byLog = "the policy of the log"

// openDeployed is what the guard compares with: the decisions of the file on the training rows, at its own prices, or those that the log
// names. It is nil where neither says it.
func (j job) openDeployed(ctx context.Context) (*auto.Deployed, error) {
	rows := j.t.Rows(costs.Train)
	if j.Deployed.IsZero() {
		if j.greedy == nil || j.AnyPrice || !j.Warm.IsZero() || j.Recipe != auto.Name {
			return nil, nil
		}
		d := &auto.Deployed{Name: byLog}
		for _, n := range rows {
			d.Actions = append(d.Actions, j.greedy[n])
		}
		return d, nil
	}
	f, decider, err := replay.OpenPolicy(ctx, j.rt, j.Deployed, j.t)
	if err != nil {
		return nil, err
	}
	if decider.Info().Prices != nil {
		err := &stage.OptionError{Err: fmt.Errorf("deployed: %q is an any-price policy; pipe convert makes a file for one price", j.Deployed)}
		return nil, errors.Join(err, decider.Close())
	}
	l, err := replay.AtOwnPrices(ctx, f, decider, j.Deployed, j.t, rows)
	if err != nil {
		return nil, err
	}
	return &auto.Deployed{Name: j.Deployed.String() + "@" + l.Digest, Actions: l.Action}, nil
}

// stays is the line of a policy that was not exported, at a lambda.
func (j job) stays(lambda float64) Policy {
	line := Policy{Method: auto.Name, Lambda: &lambda, Stays: byLog}
	if !j.Deployed.IsZero() {
		line.Stays = j.Deployed.String()
	}
	return line
}
