package builder

import (
	"context"
	"fmt"
	"slices"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/parallel"
)

// requester is an expert that asks several times about each instance.
type requester interface{ Requests() int }

// requestsOf is how many requests an expert makes for an instance.
func requestsOf(e part.NamedExpert) int {
	if s, ok := e.Expert.(requester); ok {
		return max(1, s.Requests())
	}
	return 1
}

// spread returns about n of the rows, evenly spaced.
func spread(rows []int, n int) []int {
	if len(rows) <= n {
		return rows
	}
	some := make([]int, n)
	for i := range some {
		some[i] = rows[(2*i+1)*len(rows)/(2*n)]
	}
	return some
}

// sample asks about a few instances: every expert under every advice, and what else asks for them.
func (e *estimator) sample(ctx context.Context) error {
	rows := spread(e.rows, estimateSample)
	batch, err := e.Load(ctx, rows)
	if err != nil {
		return err
	}
	e.progress.Start(int64(len(rows)*len(e.asks)), "sampled answers")
	defer e.progress.Done()
	shown := make([][]part.AdvicePayload, len(e.Levels))
	for _, k := range e.levels() {
		shown[k] = make([]part.AdvicePayload, len(batch))
		if err := e.each(ctx, batch, e.reformulators(k), func(ctx context.Context, n int) error {
			one, err := e.show(ctx, k, batch[n:n+1])
			if err == nil {
				shown[k][n] = one[0]
			}
			return err
		}); err != nil {
			return err
		}
	}
	for _, a := range e.asks {
		if a.expert < 0 {
			continue
		}
		some := min(len(batch), max(1, estimateSample/a.requests))
		if err := e.each(ctx, batch[:some], append(e.judges(), a), func(ctx context.Context, n int) error {
			return e.ask(ctx, a, batch[n:n+1], shown[a.level][n:n+1])
		}); err != nil {
			return err
		}
	}
	for _, c := range e.session.Run() {
		e.report.Sample, e.report.Spent = e.report.Sample+c.Asked, e.report.Spent+c.Spent
	}
	return nil
}

// levels are those under which an expert asks.
func (e *estimator) levels() (list []int) {
	for k := range e.Levels {
		if slices.ContainsFunc(e.asks, func(a *asking) bool { return a.expert >= 0 && a.level == k }) {
			list = append(list, k)
		}
	}
	return list
}

// reformulators are the parts that write queries for a level.
func (e *estimator) reformulators(level int) []*asking {
	return slices.DeleteFunc(slices.Clone(e.asks), func(a *asking) bool { return a.expert >= 0 || a.level != level })
}

// judges are the parts that ask neither as experts nor for advice.
func (e *estimator) judges() []*asking {
	return slices.DeleteFunc(slices.Clone(e.asks), func(a *asking) bool { return a.expert >= 0 || a.level >= 0 })
}

// each calls do for the instances of a batch, and records what each made the parts ask.
func (e *estimator) each(ctx context.Context, batch []part.Instance, parts []*asking, do func(ctx context.Context, n int) error) error {
	tallies := make([]chat.Tally, len(batch))
	err := parallel.First(ctx, len(batch), len(batch), func(ctx context.Context, n int) error {
		defer e.progress.Add(int64(len(parts)))
		return do(chat.WithTally(ctx, &tallies[n]), n)
	})
	if err != nil {
		return err
	}
	for n := range tallies {
		for _, a := range parts {
			if c := tallies[n].Of([]string{a.part})[0]; c.PromptTokens+c.CompletionTokens > 0 {
				a.seen = append(a.seen, c)
			}
		}
	}
	return nil
}

// ask lets one expert answer for an instance under one advice, and has the answer judged.
func (e *estimator) ask(ctx context.Context, a *asking, batch []part.Instance, shown []part.AdvicePayload) error {
	levels := make([][]part.AdvicePayload, len(e.Levels))
	levels[a.level] = shown
	x := e.Experts[a.expert]
	answers, err := x.Predict(ctx, batch, levels)
	if err != nil {
		return fmt.Errorf("expert %q: %w", x.Name, err)
	}
	_, err = e.losses(ctx, batch, answers[a.level])
	return err
}

// rehearse goes through all rows without asking, and counts the requests that would be made.
func (e *estimator) rehearse(ctx context.Context) error {
	r := chat.NewRehearsal()
	e.progress.Start(int64(len(e.rows)), "rehearsed instances")
	defer e.progress.Done()
	pieces := e.cut(e.rows)
	err := parallel.Each(ctx, e.Workers, len(pieces), func(ctx context.Context, i int) error {
		batch, err := e.Load(ctx, pieces[i].rows)
		if err != nil {
			return err
		}
		if err := e.rehearseBatch(ctx, r, batch); err != nil {
			return err
		}
		e.progress.Add(int64(len(batch)))
		return nil
	})
	for i, a := range e.asks {
		a.calls = r.Calls(i)
	}
	return err
}

func (e *estimator) rehearseBatch(ctx context.Context, r *chat.Rehearsal, batch []part.Instance) error {
	for _, k := range e.levels() {
		writer := slices.IndexFunc(e.asks, func(a *asking) bool { return a.expert < 0 && a.level == k })
		shown, err := e.show(r.Count(ctx, writer), k, batch)
		if err != nil {
			return err
		}
		for i, a := range e.asks {
			if a.expert < 0 || a.level != k {
				continue
			}
			levels := make([][]part.AdvicePayload, len(e.Levels))
			levels[k] = shown
			if _, err := e.Experts[a.expert].Predict(r.Count(ctx, i), batch, levels); err != nil {
				return fmt.Errorf("expert %q: %w", e.Experts[a.expert].Name, err)
			}
		}
	}
	return nil
}
