package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"pipe/costs/grade"
	"pipe/pipeline/decisionlog"
	"pipe/serve/budget"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/panels"
	"pipe/serve/gateway/protocol"
)

// panelText is an answer of a panel that can be graded: its record is in the log.
type panelText struct {
	record *decisionlog.Record
	text   string
}

// answered keeps the text of an answer for the grader. An answer that is no single text, such as the call of a tool, stays without a grade.
func (j *panelJob) answered(rec *decisionlog.Record, body []byte) {
	if text, ok := protocol.TextOf(j.request.Format, body); ok {
		j.answers = append(j.answers, panelText{rec, text})
	}
}

// said are the answers for the grader.
func (j *panelJob) said() []panels.Said {
	out := make([]panels.Said, len(j.answers))
	for i, a := range j.answers {
		out[i] = panels.Said{Pair: j.actions.Name(a.record.Action), Text: a.text}
	}
	return out
}

// grade grades the answers of a job, and logs their outcomes. An answer whose grade is not known stays without outcome. It returns the
// money that the budget is charged with.
func (p *panel) grade(j *panelJob) (spent float64) {
	settings := j.settings.Panel.Grader
	if settings == nil {
		return 0
	}
	judge := &panelJudge{panel: p, job: j}
	grader, err := settings.Open(p.ctx, judge)
	if err != nil { // the settings were checked
		p.api.log.Error("the grader of the panel cannot be opened", "error", err.Error())
		return 0
	}
	if c, ok := grader.(io.Closer); ok {
		defer func() { _ = c.Close() }() // it has no model of its own
	}
	reference, ok := panels.Reference(grader, settings.Reference, j.said(), len(j.records))
	ok = ok && (j.question != "" || !settings.Asks()) // a judge must see what was asked
	for _, a := range j.answers {
		var score float64
		known := ok && p.ctx.Err() == nil
		if known && j.actions.Name(a.record.Action) == settings.Reference {
			score = 1
		} else if known {
			score, known = p.score(grader, j, a, reference)
		}
		p.api.metrics.PanelGrade(a.record.Policy, known)
		if known {
			p.tell(a.record, score, settings.Kind)
		}
	}
	return judge.spent
}

// score grades one answer. known is false if that is not possible.
func (p *panel) score(g grade.Grader, j *panelJob, a panelText, references []string) (score float64, known bool) {
	scores, err := g.Grade(p.ctx, []grade.Answer{{Text: a.text, References: references, Question: j.question}})
	if err == nil {
		return scores[0], true
	}
	why := "what the grader found cannot be read as a score"
	if f, ok := errors.AsType[*expert.Failure](err); ok {
		why = f.Label()
	} else if full := budget.IsFull(err); full != nil {
		why = full.Error()
	}
	request, pair := slog.String("request", a.record.Request), slog.String("pair", j.actions.Name(a.record.Action))
	p.api.log.LogAttrs(p.ctx, slog.LevelWarn, "an answer of a panel has no grade", request, pair, slog.String("reason", why))
	p.api.log.LogAttrs(p.ctx, slog.LevelDebug, "an answer of a panel has no grade", request, pair, slog.String("error", err.Error())) // it may quote texts
	return 0, false
}

// tell logs a grade as the outcome of an answer.
func (p *panel) tell(rec *decisionlog.Record, score float64, kind string) {
	o := decisionlog.Outcome{ID: rec.ID, Time: time.Now().UnixMicro(), Score: &score, Comment: "graded by the panel: " + kind}
	if _, err := p.api.decider.Outcome(o); err != nil {
		p.api.log.Error("a grade of a panel could not be logged", "request", rec.Request, "error", err.Error())
	}
}

// panelJudge asks an expert of the gateway for the grades of a job.
type panelJudge struct {
	panel  *panel
	job    *panelJob
	expert *expert.Expert
	spent  float64 // of the budget
}

// Pair opens no model: the gateway loads none.
func (*panelJudge) Pair(context.Context, map[string]any) (grade.PairModel, error) {
	return nil, panels.ErrNoPair
}

// Chat names the expert.
func (m *panelJudge) Chat(_ context.Context, settings map[string]any) (grade.ChatModel, error) {
	name, err := panels.JudgeName(settings)
	if err != nil {
		return nil, err
	}
	if m.expert = m.job.experts[name]; m.expert == nil {
		return nil, fmt.Errorf("model: expert: %q is no expert of the gateway", name)
	}
	return m, nil
}

// Answer asks about all requests, one after the other.
func (m *panelJudge) Answer(ctx context.Context, requests []grade.Request) ([]string, error) {
	replies := make([]string, len(requests))
	for i, r := range requests {
		var err error
		if replies[i], err = m.ask(ctx, r); err != nil {
			return nil, &grade.AnswerError{Index: i, Err: err}
		}
	}
	return replies, nil
}

// ask asks about one request. The caller's headers are not sent to the judge.
func (m *panelJudge) ask(ctx context.Context, r grade.Request) (string, error) {
	request, err := panels.JudgeRequest(m.expert.Model(), r)
	if err != nil {
		return "", err
	}
	inner, stop, cancel := withDeadline(ctx, m.job.settings.Fallback.Deadline)
	defer cancel(nil)
	defer stop()
	hold, err := m.panel.hold(m.expert, request, nil)
	if err != nil {
		return "", err
	}
	a, err := m.expert.Call(inner, request, nil, nil)
	if err != nil {
		hold.failed(m.expert, err)
		m.spent += m.job.costOfFailure(m.expert, err)
		m.panel.api.metrics.PanelCall(m.expert.Name, false, 0)
		return "", err
	}
	fee, text, ok := m.expert.Fee(a.Model, a.Usage, time.Now()), "", false
	hold.answered(&outcome{usage: a.Usage, fee: fee, refused: a.Status != http.StatusOK})
	if a.Status == http.StatusOK {
		m.spent += m.job.costOf(fee)
		text, ok = protocol.TextOf(protocol.Chat, a.Body)
	}
	m.panel.api.metrics.PanelCall(m.expert.Name, ok, fee.Money)
	if !ok {
		return "", fmt.Errorf("%s: no reply with one text: HTTP %d", m.expert.Name, a.Status)
	}
	return text, nil
}

// Count does nothing: grades are counted by whether they are known.
func (*panelJudge) Count(context.Context, bool) {}

// Close does nothing: the expert belongs to the gateway.
func (*panelJudge) Close() error { return nil }
